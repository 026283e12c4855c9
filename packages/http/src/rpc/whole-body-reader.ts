import { type BodyLender, ByteGatherer } from '../wire/byte-gatherer.ts';
import type { MemoryLease } from '../wire/memory.ts';
import { messageTooLarge } from './compression.ts';
import type { MessageReader, MessageSink } from './envelope.ts';
import type { RpcError } from './rpc-error.ts';

/** Reads a body that is one message, as in Connect's unary calls. */
export class WholeBodyReader implements MessageReader {
  readonly #sink: MessageSink;
  readonly #bytesMax: number;
  readonly #isCompressed: boolean;
  readonly #body: ByteGatherer;
  #isBroken: boolean = false;
  #isHeld: boolean = false;

  constructor(
    sink: MessageSink,
    bytesMax: number,
    lengthBytes: number | undefined,
    memory: MemoryLease,
    isCompressed: boolean,
    lender?: BodyLender,
  ) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
    this.#body = new ByteGatherer(lengthBytes, memory, isCompressed ? undefined : lender);
    this.#isCompressed = isCompressed;
  }

  get isMidMessage(): boolean {
    return true;
  }

  push(piece: Uint8Array): void {
    if (this.#hasRoomFor(piece)) this.#body.push(piece);
  }

  pushLent(piece: Uint8Array): void {
    if (this.#hasRoomFor(piece)) this.#body.pushLent(piece);
  }

  #hasRoomFor(piece: Uint8Array): boolean {
    if (this.#isBroken) return false;
    if (this.#body.bytes + piece.length <= this.#bytesMax) return true;
    this.#break(messageTooLarge('the message', this.#bytesMax));
    return false;
  }

  end(): void {
    if (this.#isBroken) return;
    if (!this.#body.settle()) {
      setImmediate(() => this.end());
      return;
    }
    const { bytes, lent } = this.#body.takeGathered();
    this.#sink.onMessage(bytes, this.#isCompressed, lent);
    if (!this.#isHeld) this.#sink.onMessagesEnd();
  }

  close(): void {
    this.#isBroken = true;
    this.#body.clear();
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#sink.onMessagesEnd();
  }

  #break(error: RpcError): void {
    this.close();
    this.#sink.onBadMessage(error);
  }
}
