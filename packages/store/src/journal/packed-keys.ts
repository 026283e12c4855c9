/**
 * Keys of records as bytes: what differs from the key before, mostly in four to six bytes. As objects they take about eighty each,
 * and a stream that commits every output alone has as many as it keeps outputs, also for the resume window after its end.
 */
import type { RecordKey } from './record-format.ts';

/** At most: three numbers of eight bytes and one of five. */
const packedKeyBytesMax = 32;
const bytesMin = 64;

export class PackedKeys {
  readonly #life: number;
  #bytes: Uint8Array = new Uint8Array(bytesMin);
  #end = 0;
  /** Of the last key: its position, and the number after its last entry. */
  #position = 0;
  #next = 0;

  /** All keys belong to one log and share its `life` number. */
  constructor(life: number) {
    this.#life = life;
  }

  get byteLength(): number {
    return this.#bytes.length;
  }

  push({ position, first, count, bytes }: RecordKey): void {
    if (this.#end + packedKeyBytesMax > this.#bytes.length) this.#resize(2 * this.#bytes.length);
    this.#write(position - this.#position);
    // 0 in a log that is whole: only the first of all keys, and one after a gap, begin elsewhere.
    const gap = first - this.#next;
    this.#write(gap < 0 ? -2 * gap - 1 : 2 * gap);
    this.#write(count);
    this.#write(bytes);
    this.#position = position;
    this.#next = first + count;
  }

  /** No more keys are expected soon. */
  shrink(): void {
    if (this.#end < this.#bytes.length) this.#resize(this.#end);
  }

  all(): RecordKey[] {
    const keys: RecordKey[] = [];
    const life = this.#life;
    const source = this.#bytes;
    let [at, position, next] = [0, 0, 0];
    const read = (): number => {
      let [value, factor] = [0, 1];
      for (let byte = 0x80; byte >= 0x80; factor *= 0x80) {
        byte = source[at++] as number;
        value += (byte % 0x80) * factor;
      }
      return value;
    };
    while (at < this.#end) {
      position += read();
      const gap = read();
      const first = next + (gap % 2 === 0 ? gap / 2 : -(gap + 1) / 2);
      const count = read();
      keys.push({ position, life, first, count, bytes: read() });
      next = first + count;
    }
    return keys;
  }

  #resize(bytes: number): void {
    const resized = new Uint8Array(bytes);
    resized.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = resized;
  }

  /** A whole number that is not negative, seven bits a byte, the lowest first. */
  #write(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#end++] = (rest % 0x80) + 0x80;
    this.#bytes[this.#end++] = rest;
  }
}
