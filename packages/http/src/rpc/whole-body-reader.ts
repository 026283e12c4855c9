import { ByteGatherer } from '../wire/byte-gatherer.ts';
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
  ) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
    this.#body = new ByteGatherer(lengthBytes, memory);
    this.#isCompressed = isCompressed;
  }

  get isMidMessage(): boolean {
    return true;
  }

  push(piece: Uint8Array): void {
    if (this.#isBroken) return;
    if (this.#body.bytes + piece.length > this.#bytesMax) this.#break(messageTooLarge('the message', this.#bytesMax));
    else this.#body.push(piece);
  }

  end(): void {
    if (this.#isBroken) return;
    if (!this.#body.settle()) {
      setImmediate(() => this.end());
      return;
    }
    this.#sink.onMessage(this.#body.take(), this.#isCompressed);
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
