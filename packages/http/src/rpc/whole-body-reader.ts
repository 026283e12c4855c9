import { tooLarge } from './compression.ts';
import type { MessageReader, MessageSink } from './envelope.ts';

/** A body that is one message, as Connect's unary calls have it. */
export class WholeBodyReader implements MessageReader {
  readonly #sink: MessageSink;
  readonly #bytesMax: number;
  readonly #isCompressed: boolean;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isBroken: boolean = false;
  #isHeld: boolean = false;

  constructor(sink: MessageSink, bytesMax: number, isCompressed: boolean) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
    this.#isCompressed = isCompressed;
  }

  push(piece: Uint8Array): void {
    if (this.#isBroken) return;
    this.#bytes += piece.length;
    if (this.#bytes <= this.#bytesMax) {
      this.#pieces.push(piece);
      return;
    }
    this.#isBroken = true;
    this.#pieces = [];
    this.#sink.onBadMessage(tooLarge('the message', this.#bytesMax));
  }

  end(): void {
    if (this.#isBroken) return;
    const pieces = this.#pieces;
    this.#pieces = [];
    const whole = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, this.#bytes);
    this.#sink.onMessage(whole, this.#isCompressed);
    if (!this.#isHeld) this.#sink.onMessagesEnd();
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#sink.onMessagesEnd();
  }
}
