/** Seeded randomness: the same seed, the same world. */
export class SimulationRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
    // Neighbouring seeds begin with similar numbers; a few steps separate them.
    for (let step = 0; step < 4; step++) this.next();
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  }

  /** Both ends included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('nothing to pick from');
    return list[this.integer(0, list.length - 1)] as T;
  }
}
