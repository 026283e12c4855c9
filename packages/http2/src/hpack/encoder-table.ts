import { hpackEntryOverheadBytes } from './decoder-table.ts';

/**
 * The encoder's dynamic table: found by name and value, evicted in order. An entry keeps its number while it exists.
 */
export class EncoderTable {
  /** Names and values in order of insertion, pairwise; those before `#evicted` were evicted. */
  #entries: string[] = [];
  #evicted = 0;
  #inserted = 0;
  #bytes = 0;
  #bytesMax: number;
  readonly #numbers = new Map<string, Map<string, number>>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get bytesMax(): number {
    return this.#bytesMax;
  }

  /** How many insertions ago the field was added, 0 for the newest; -1 when it is not in the table. */
  ageOf(name: string, value: string): number {
    const number = this.#numbers.get(name)?.get(value);
    return number === undefined ? -1 : this.#inserted - 1 - number;
  }

  /** False when the field is too large to be kept; then nothing was evicted. */
  insert(name: string, value: string): boolean {
    const bytes = name.length + value.length + hpackEntryOverheadBytes;
    if (bytes > this.#bytesMax) return false;
    this.#evictTo(this.#bytesMax - bytes);
    let values = this.#numbers.get(name);
    if (values === undefined) {
      values = new Map();
      this.#numbers.set(name, values);
    }
    values.set(value, this.#inserted++);
    this.#entries.push(name, value);
    this.#bytes += bytes;
    return true;
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#evictTo(bytesMax);
  }

  #evictTo(bytesMax: number): void {
    let first = this.#entries.length / 2 - (this.#inserted - this.#evicted);
    while (this.#evicted < this.#inserted && this.#bytes > bytesMax) {
      const name = this.#entries[first * 2] as string;
      const value = this.#entries[first * 2 + 1] as string;
      this.#bytes -= name.length + value.length + hpackEntryOverheadBytes;
      const values = this.#numbers.get(name);
      if (values?.get(value) === this.#evicted) {
        values.delete(value);
        if (values.size === 0) this.#numbers.delete(name);
      }
      this.#evicted++;
      first++;
    }
    // Compacted only when half is evicted, so that the cost of an insertion does not depend on how fast entries change.
    if (first > 32 && first * 4 > this.#entries.length) this.#entries = this.#entries.slice(first * 2);
  }
}
