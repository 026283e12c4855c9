import type { HeaderField } from '../header-field.ts';

/** Bytes that an entry counts beyond its name and value (RFC 7541, 4.1). */
export const hpackEntryOverheadBytes = 32;

function fieldBytes(field: HeaderField): number {
  return field.name.length + field.value.length + hpackEntryOverheadBytes;
}

/** The decoder's dynamic table: a ring of fields, newest first by index. Empty tables hold no memory. */
export class DecoderTable {
  #ring: (HeaderField | undefined)[] = [];
  #mask = -1;
  #inserted = 0;
  #count = 0;
  #bytes = 0;
  #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The field `age` insertions back: 0 is the newest. */
  at(age: number): HeaderField | undefined {
    if (age >= this.#count) return undefined;
    return this.#ring[(this.#inserted - 1 - age) & this.#mask];
  }

  insert(field: HeaderField): void {
    const bytes = fieldBytes(field);
    this.#evictTo(this.#bytesMax - bytes);
    // A field larger than the table empties it and is not kept; that is not an error (RFC 7541, 4.4).
    if (bytes > this.#bytesMax) return;
    if (this.#count > this.#mask) this.#grow();
    this.#ring[this.#inserted & this.#mask] = field;
    this.#inserted++;
    this.#count++;
    this.#bytes += bytes;
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#evictTo(bytesMax);
  }

  #evictTo(bytesMax: number): void {
    while (this.#count > 0 && this.#bytes > bytesMax) {
      const oldest = (this.#inserted - this.#count) & this.#mask;
      this.#bytes -= fieldBytes(this.#ring[oldest] as HeaderField);
      this.#ring[oldest] = undefined;
      this.#count--;
    }
  }

  #grow(): void {
    const capacity = Math.max(8, this.#ring.length * 2);
    const ring = new Array<HeaderField | undefined>(capacity).fill(undefined);
    for (let age = 0; age < this.#count; age++) ring[this.#count - 1 - age] = this.at(age);
    this.#ring = ring;
    this.#mask = capacity - 1;
    this.#inserted = this.#count;
  }
}
