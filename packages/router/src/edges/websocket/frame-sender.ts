/** Sends frames in their order. Long ones are written in slices, and those after them wait. */
import type { WebSocketConnection } from '@millrace/http/websocket';
import type { CancelSignal } from '@millrace/protocol';
import type { StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { doAtOnce, type SliceQueue } from '../slices/slice-queue.ts';
import { encodeSocketMessage, isLongFrame, payloadBytesOf } from './encode-response.ts';
import { protoSubprotocol } from './subprotocols.ts';

export interface FrameSenderParts {
  readonly connection: WebSocketConnection;
  readonly slices: SliceQueue;
  /** Whose turn the slices are. */
  readonly owner: string;
  /** Fires when the connection is closed. */
  readonly signal: CancelSignal;
  /** There is room after a `send` that returned false. */
  readonly onRoom: () => void;
  /** A frame could not be written; it and those after it are not sent. */
  readonly onFailed: (error: unknown) => void;
}

export class FrameSender {
  readonly #parts: FrameSenderParts;
  readonly #waiting: StreamLinkFrame[] = [];
  #isWriting: boolean = false;
  #hasRoom: boolean = true;
  #whenSent: (() => void) | undefined = undefined;

  constructor(parts: FrameSenderParts) {
    this.#parts = parts;
  }

  /** Whether a frame is being written in slices. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** False: there is no room for more until `onRoom`. */
  send(frame: StreamLinkFrame): boolean {
    if (!this.#isWriting) return this.#write(frame);
    this.#parts.connection.hold(payloadBytesOf(frame));
    this.#waiting.push(frame);
    return false;
  }

  /** Sends a short frame before those that wait. */
  sendFirst(frame: StreamLinkFrame): void {
    this.#hasRoom = this.#pass(doAtOnce(encodeSocketMessage(frame, this.#parts.connection.subprotocol)));
  }

  /** Calls back once, when all that was given to `send` is sent. */
  whenSent(callback: () => void): void {
    if (this.#isWriting) this.#whenSent = callback;
    else callback();
  }

  /** For the connection: the client has read enough. */
  onDrain(): void {
    this.#hasRoom = true;
    if (!this.#isWriting) this.#parts.onRoom();
  }

  #write(frame: StreamLinkFrame): boolean {
    const { connection, slices, owner, signal } = this.#parts;
    const { subprotocol } = connection;
    const work = encodeSocketMessage(frame, subprotocol);
    if (!isLongFrame(frame, subprotocol)) {
      this.#hasRoom = this.#pass(doAtOnce(work));
      return this.#hasRoom;
    }
    this.#isWriting = true;
    connection.hold(payloadBytesOf(frame));
    slices.run(work, owner, signal).then(
      (message) => this.#onWritten(frame, message),
      (error: unknown) => this.#onFailed(error),
    );
    return false;
  }

  #onWritten(frame: StreamLinkFrame, message: Uint8Array): void {
    const { connection, onRoom } = this.#parts;
    this.#isWriting = false;
    connection.give(payloadBytesOf(frame));
    this.#hasRoom = this.#pass(message);
    while (!this.#isWriting) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      connection.give(payloadBytesOf(next));
      this.#write(next);
    }
    if (this.#isWriting) return;
    this.#whenSent?.();
    if (this.#hasRoom) onRoom();
  }

  #onFailed(error: unknown): void {
    this.#isWriting = false;
    this.#waiting.length = 0;
    this.#parts.onFailed(error);
  }

  #pass(message: Uint8Array): boolean {
    const { connection } = this.#parts;
    return connection.subprotocol === protoSubprotocol ? connection.send(message) : connection.sendText(message);
  }
}
