/** Seeded randomness: the same seed, the same world. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed + 1, 2_654_435_761) ^ 0x5bd1e995) >>> 0 || 1;
    for (let step = 0; step < 4; step++) this.below(2);
  }

  /** A whole number from 0, below the bound. */
  below(bound: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % bound;
  }

  /** Both ends included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True once in so many throws. */
  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}
