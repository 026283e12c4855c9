/** Randomness that a seed reproduces. */
export class FuzzRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A whole number from 0 to `limit` less one. */
  below(limit: number): number {
    return this.next() % limit;
  }

  /** True once in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.allocUnsafe(count);
    for (let at = 0; at < count; at++) bytes[at] = this.next();
    return bytes;
  }

  /** The input with a few things done to it: bits flipped, bytes set, stretches cut out, doubled or put in. */
  mutate(input: Buffer): Buffer {
    let bytes = Buffer.from(input);
    for (let times = 1 + this.below(3); times > 0; times--) {
      const at = this.below(bytes.length + 1);
      const kind = this.below(6);
      if (kind === 0 && at < bytes.length) bytes[at] = (bytes[at] as number) ^ (1 << this.below(8));
      else if (kind === 1 && at < bytes.length) bytes[at] = this.pick([0, 1, 9, 10, 13, 32, 58, 127, 128, 255]);
      else if (kind === 2)
        bytes = Buffer.concat([bytes.subarray(0, at), this.bytes(1 + this.below(4)), bytes.subarray(at)]);
      else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + this.below(8))]);
      else if (kind === 4) {
        const stretch = bytes.subarray(at, at + 1 + this.below(32));
        bytes = Buffer.concat([bytes.subarray(0, at), stretch, bytes.subarray(at)]);
      } else if (kind === 5) bytes = bytes.subarray(0, at);
    }
    return bytes;
  }

  /** The input cut into chunks as a network might: often whole, sometimes in small pieces. */
  cut(input: Buffer): Buffer[] {
    if (!this.oneIn(4)) return [input];
    const chunks: Buffer[] = [];
    for (let at = 0; at < input.length; ) {
      const size = this.oneIn(2) ? 1 + this.below(9) : 1 + this.below(input.length);
      chunks.push(input.subarray(at, at + size));
      at += size;
    }
    return chunks;
  }
}
