/** Splits the body of a gRPC answer into its messages as it comes, and tells of each by its first byte, without a copy. */
export class EnvelopeCounter {
  readonly #onMessage: (firstByte: number) => void;
  /** Bytes of the next envelope that were seen: five of its head, then one of its message. */
  #headSeen = 0;
  #length = 0;
  /** Bytes of the message that are still to come. */
  #left = 0;

  constructor(onMessage: (firstByte: number) => void) {
    this.#onMessage = onMessage;
  }

  push(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, to - at);
        this.#left -= step;
        at += step;
        continue;
      }
      const byte = bytes[at] as number;
      at += 1;
      this.#headSeen += 1;
      if (this.#headSeen <= 5) {
        this.#length = this.#headSeen === 1 ? 0 : this.#length * 256 + byte;
        continue;
      }
      this.#headSeen = 0;
      this.#left = this.#length - 1;
      this.#onMessage(byte);
    }
  }
}
