/**
 * Which tokens a text has so far, and how often the model gave each: what penalties are counted by. Kept sparse, since a stream has
 * hundreds of different tokens and a vocabulary 150,000; in flat arrays, so that a step walks it without allocating.
 */
export class TokenHistory {
  readonly #slots = new Map<number, number>();
  #ids = new Uint32Array(64);
  #outputCounts = new Uint32Array(64);

  constructor(promptIds: Iterable<number>) {
    for (const id of promptIds) this.#slotOf(id);
  }

  /** How many different tokens prompt and output have. */
  get size(): number {
    return this.#slots.size;
  }

  addOutput(id: number): void {
    const slot = this.#slotOf(id);
    this.#outputCounts[slot] = (this.#outputCounts[slot] as number) + 1;
  }

  /** The token in a slot from 0 to below `size`. */
  idAt(slot: number): number {
    return this.#ids[slot] as number;
  }

  /** How often the output has that token; 0: only the prompt has it. */
  outputCountAt(slot: number): number {
    return this.#outputCounts[slot] as number;
  }

  #slotOf(id: number): number {
    const known = this.#slots.get(id);
    if (known !== undefined) return known;
    const slot = this.#slots.size;
    if (slot === this.#ids.length) {
      this.#ids = grown(this.#ids);
      this.#outputCounts = grown(this.#outputCounts);
    }
    this.#slots.set(id, slot);
    this.#ids[slot] = id;
    return slot;
  }
}

function grown(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}
