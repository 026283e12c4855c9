/**
 * Finds where the long values of a JSON text end, in steps of limited work and without parsing them: then everything
 * else can be read at once, and long values when they are known to be needed. Budget: 1 ns a byte.
 */
import { jsonErrorAt } from './json-error.ts';
import { unclosedString } from './read-string.ts';
import { jsonDepthMax } from './reader.ts';

/** Values with more bytes are long. */
export const longValueBytesMin = 4096;
/** Arrays and objects are searched to this depth; deeper ones belong to the value around them. */
const foundDepthMax = 6;

const noString = -1;

export class LongValues {
  readonly #bytes: Uint8Array;
  /** The same bytes four at a time, from `#firstInt32` on. */
  readonly #int32s: Int32Array;
  readonly #firstInt32: number;
  readonly #ends = new Map<number, number>();
  readonly #opened = new Int32Array(jsonDepthMax);
  #depth = 0;
  #stringStart = noString;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#firstInt32 = -bytes.byteOffset & 3;
    const count = Math.max(0, (bytes.length - this.#firstInt32) >> 2);
    this.#int32s =
      count === 0 ? new Int32Array(0) : new Int32Array(bytes.buffer, bytes.byteOffset + this.#firstInt32, count);
  }

  /** The position after the long value that begins at `start`; undefined for short ones. */
  endOf(start: number): number | undefined {
    return this.#ends.get(start);
  }

  /** Scans this many bytes more; true when all have been scanned. Throws where something is not closed. */
  step(bytesMax: number): boolean {
    const bytes = this.#bytes;
    const stop = Math.min(bytes.length, this.#position + bytesMax);
    let position = this.#position;
    while (position < stop) {
      if (((position - this.#firstInt32) & 3) === 0) {
        position = this.#stringStart === noString ? this.#passPlain(position, stop) : this.#passText(position, stop);
        if (position >= stop) break;
      }
      const byte = bytes[position] as number;
      if (this.#stringStart !== noString) {
        if (byte === 0x5c) position += 1;
        else if (byte === 0x22) {
          this.#keep(this.#stringStart, position + 1);
          this.#stringStart = noString;
        }
      } else if (byte === 0x22) this.#stringStart = position;
      else if (byte >= 0x5b) {
        const bracket = byte | 0x20;
        if (bracket === 0x7b) this.#open(position);
        else if (bracket === 0x7d && !this.#close(position)) {
          // A bracket is closed that was never opened: the reader refuses it when it gets here.
          this.#position = bytes.length;
          return true;
        }
      }
      position += 1;
    }
    this.#position = position;
    if (position < bytes.length) return false;
    if (this.#stringStart !== noString) throw unclosedString(bytes, this.#stringStart);
    if (this.#depth > 0) throw jsonErrorAt(bytes, this.#opened[0] as number, 'an array or object is not closed');
    return true;
  }

  #open(position: number): void {
    if (this.#depth === jsonDepthMax) {
      throw jsonErrorAt(this.#bytes, position, `arrays and objects are nested more than ${jsonDepthMax} deep`);
    }
    this.#opened[this.#depth] = position;
    this.#depth += 1;
  }

  #close(position: number): boolean {
    if (this.#depth === 0) return false;
    this.#depth -= 1;
    if (this.#depth < foundDepthMax) this.#keep(this.#opened[this.#depth] as number, position + 1);
    return true;
  }

  #keep(start: number, end: number): void {
    if (end - start > longValueBytesMin) this.#ends.set(start, end);
  }

  /** Skips int32s without a quote and without bytes from 0x5b on, which include all brackets. */
  #passPlain(from: number, stop: number): number {
    const int32s = this.#int32s;
    const last = (stop - this.#firstInt32) >> 2;
    let index = (from - this.#firstInt32) >> 2;
    for (; index < last; index += 1) {
      const int32 = int32s[index] as number;
      const quotes = int32 ^ 0x22222222;
      if (((int32 + 0x25252525) | int32 | ((quotes - 0x01010101) & ~quotes)) & 0x80808080) break;
    }
    return this.#firstInt32 + index * 4;
  }

  /** Skips int32s without a quote and without a backslash. */
  #passText(from: number, stop: number): number {
    const int32s = this.#int32s;
    const last = (stop - this.#firstInt32) >> 2;
    let index = (from - this.#firstInt32) >> 2;
    for (; index < last; index += 1) {
      const int32 = int32s[index] as number;
      const quotes = int32 ^ 0x22222222;
      const escapes = int32 ^ 0x5c5c5c5c;
      if ((((quotes - 0x01010101) & ~quotes) | ((escapes - 0x01010101) & ~escapes)) & 0x80808080) break;
    }
    return this.#firstInt32 + index * 4;
  }
}
