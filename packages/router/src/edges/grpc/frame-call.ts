/** A streaming call that carries one connection to a durable stream. One object for all that it listens to: most streams are idle. */
import type { RequestListener, RequestStream, StreamCall } from '@millrace/http';
import { InferenceError, type StreamClientFrame } from '@millrace/protocol';
import type { StreamCaller, StreamGateway, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { StreamConversation, type StreamTransport } from '../streams/stream-call.ts';

/** A message that cannot be read ends its call with the reason, in the catalogue's form. */
export type Readable<Message> = Message | InferenceError;

export class FrameCall implements StreamTransport, RequestListener<Readable<StreamClientFrame>> {
  readonly conversation: StreamConversation;
  readonly #call: StreamCall<StreamLinkFrame>;
  /** Undefined: the client sends nothing after its first message. */
  readonly #requests: RequestStream<Readable<StreamClientFrame>> | undefined;

  constructor(
    call: StreamCall<StreamLinkFrame>,
    requests: RequestStream<Readable<StreamClientFrame>> | undefined,
    gateway: StreamGateway,
    caller: StreamCaller,
  ) {
    this.#call = call;
    this.#requests = requests;
    this.conversation = new StreamConversation(gateway, caller, this);
    call.whenEnded(() => this.#detach());
  }

  send(frame: StreamLinkFrame): boolean {
    const hasRoom = this.#call.send(frame);
    if (!hasRoom) this.#call.onRoom = () => this.conversation.onRoom();
    return hasRoom;
  }

  onOpened(): void {
    this.#requests?.resume();
  }

  close(error: InferenceError | undefined): void {
    if (error === undefined) this.#call.end();
    else this.#call.fail(error);
  }

  onMessage(frame: Readable<StreamClientFrame>): void {
    if (this.#requests !== undefined) passFrame(frame, this.conversation, this.#requests);
  }

  /** More inputs may come by another connection: the last one says that it is the last. */
  onEnd(): void {}

  /** A lost connection and a deadline of the call detach the stream; only a `cancel` frame ends it. */
  #detach(): void {
    this.conversation.detach();
    // The call has ended; this releases what it still holds of its connection.
    this.#call.end();
  }
}

/** What the client says is passed on; after `open` no more is read until the stream is found. */
export function passFrame(
  frame: Readable<StreamClientFrame>,
  conversation: StreamConversation,
  requests: Pick<RequestStream<unknown>, 'pause'>,
): void {
  if (frame instanceof InferenceError) {
    conversation.fail(frame);
    return;
  }
  if (frame.kind === 'open') requests.pause();
  conversation.receive(frame);
}
