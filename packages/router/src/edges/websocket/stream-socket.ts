/** One WebSocket connection, which carries one durable stream. A lost connection detaches the stream. */
import type { WebSocketConnection, WebSocketHandler } from '@millrace/http/websocket';
import { Cancellation, InferenceError, type StreamClientFrame } from '@millrace/protocol';
import type { StreamCaller, StreamGateway, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { doAtOnce, type SliceQueue } from '../slices/slice-queue.ts';
import { StreamConversation, type StreamTransport } from '../streams/stream-call.ts';
import { decodeSocketMessage, isLongMessage } from './decode-request.ts';
import { closingOf } from './encode-error.ts';
import { FrameSender } from './frame-sender.ts';

export interface StreamSocketParts {
  readonly gateway: StreamGateway;
  readonly slices: SliceQueue;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

export class StreamSocket implements WebSocketHandler, StreamTransport {
  readonly #parts: StreamSocketParts;
  readonly #connection: WebSocketConnection;
  readonly #caller: string;
  readonly #conversation: StreamConversation;
  readonly #sender: FrameSender;
  readonly #closed = new Cancellation();
  /** A message is being read in slices. */
  #isReading: boolean = false;
  /** The client has sent `open` and was not answered yet. */
  #isOpening: boolean = false;
  #isDrainingTold: boolean = false;

  constructor(connection: WebSocketConnection, caller: StreamCaller, parts: StreamSocketParts) {
    this.#parts = parts;
    this.#connection = connection;
    this.#caller = caller.caller;
    this.#conversation = new StreamConversation(parts.gateway, caller, this);
    this.#sender = new FrameSender({
      connection,
      slices: parts.slices,
      owner: caller.caller,
      signal: this.#closed,
      onRoom: () => this.#conversation.onRoom(),
      onFailed: (error) => this.#fail(error),
    });
  }

  onMessage(data: Uint8Array, isBinary: boolean): void {
    const work = decodeSocketMessage(data, isBinary, this.#connection.subprotocol);
    if (isLongMessage(data, isBinary)) this.#readInSlices(data.length, work);
    else {
      try {
        this.#receive(doAtOnce(work));
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  onDrain(): void {
    this.#sender.onDrain();
  }

  onGoingAway(): void {
    if (!this.#conversation.isOpen) return;
    // The host's own frame may still wait behind a long one, which will not be sent any more.
    if (!this.#isDrainingTold || this.#sender.isWriting) {
      this.#sender.sendFirst({
        kind: 'draining',
        message: 'the server closes this connection; connect again and resume the stream',
      });
    }
    this.#conversation.detach();
  }

  onClose(): void {
    this.#closed.cancel('cancelled');
    this.#conversation.detach();
  }

  send(frame: StreamLinkFrame): boolean {
    if (frame.kind === 'draining') this.#isDrainingTold = true;
    const hasRoom = this.#sender.send(frame);
    if (this.#isOpening) {
      this.#isOpening = false;
      this.#followInput();
    }
    return hasRoom;
  }

  close(error: InferenceError | undefined): void {
    const { code, reason } = closingOf(error);
    this.#sender.whenSent(() => this.#connection.close(code, reason));
  }

  #receive(frame: StreamClientFrame): void {
    if (frame.kind === 'open' && !this.#conversation.isOpen) {
      this.#connection.isBusy = true;
      // Inputs before `opened` would wait in memory, for as long as a model takes to load.
      this.#isOpening = true;
      this.#followInput();
    }
    this.#conversation.receive(frame);
  }

  #readInSlices(bytes: number, work: ReturnType<typeof decodeSocketMessage>): void {
    const { slices } = this.#parts;
    this.#isReading = true;
    this.#connection.hold(bytes);
    this.#followInput();
    slices
      .run(work, this.#caller, this.#closed)
      .then((frame) => this.#receive(frame))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#isReading = false;
        this.#connection.give(bytes);
        this.#followInput();
      });
  }

  /** One frame at a time, in their order: the client waits while there is one at work. */
  #followInput(): void {
    if (this.#isReading || this.#isOpening) this.#connection.pause();
    else this.#connection.resume();
  }

  #fail(error: unknown): void {
    if (error instanceof InferenceError) this.#conversation.fail(error);
    else {
      this.#parts.onError(error);
      this.#conversation.fail(new InferenceError('internal', 'the server failed on this frame; its log says why'));
    }
  }
}
