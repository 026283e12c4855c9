/**
 * The encoding of BYTES tensors: each element is its length, 32 bits little-endian, and its bytes, one after another
 * without padding.
 */

import { readUint32, writeUint32 } from './little-endian.ts';

/** Bytes of the length prefix of every element. */
export const bytesPrefixBytes = 4;
/** The longest element that its prefix can express. */
const bytesElementBytesMax = 0xffff_ffff;

const textEncoder = new TextEncoder();

/** Encodes elements; text is encoded as UTF-8. */
export function encodeBytesElements(elements: readonly (string | Uint8Array)[]): Uint8Array {
  const parts = elements.map((element) => (typeof element === 'string' ? textEncoder.encode(element) : element));
  let size = 0;
  for (const part of parts) size += bytesPrefixBytes + part.length;
  const data = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    if (part.length > bytesElementBytesMax)
      throw new RangeError(
        `a BYTES element has ${part.length} bytes, but at most ${bytesElementBytesMax} are possible`,
      );
    writeUint32(data, offset, part.length);
    data.set(part, offset + bytesPrefixBytes);
    offset += bytesPrefixBytes + part.length;
  }
  return data;
}

/**
 * Iterates over the elements without allocating: `while (cursor.next()) use(cursor.offset, cursor.length)`. Malformed
 * data ends the iteration early with `isMalformed`.
 */
export class BytesCursor {
  readonly data: Uint8Array;
  /** Where the bytes of the current element begin. */
  offset = 0;
  /** How many bytes the current element has. */
  length = 0;
  isMalformed: boolean = false;

  constructor(data: Uint8Array) {
    this.data = data;
  }

  next(): boolean {
    const prefix = this.offset + this.length;
    const available = this.data.length - prefix - bytesPrefixBytes;
    if (available < 0) {
      if (available !== -bytesPrefixBytes) this.isMalformed = true;
      return false;
    }
    const length = readUint32(this.data, prefix);
    if (length > available) {
      this.isMalformed = true;
      return false;
    }
    this.offset = prefix + bytesPrefixBytes;
    this.length = length;
    return true;
  }

  /** The current element, as a view. */
  view(): Uint8Array {
    return this.data.subarray(this.offset, this.offset + this.length);
  }
}

/** The elements as views of the data; undefined when the data is malformed. */
export function takeBytesElements(data: Uint8Array): Uint8Array[] | undefined {
  const cursor = new BytesCursor(data);
  const elements: Uint8Array[] = [];
  while (cursor.next()) elements.push(cursor.view());
  return cursor.isMalformed ? undefined : elements;
}

/** What is wrong with data that claims to be this many elements, if anything. */
export function bytesElementsProblem(data: Uint8Array, elements: number): string | undefined {
  const check = new BytesElementsCheck(data, elements);
  check.step(Number.POSITIVE_INFINITY);
  return check.problem;
}

/** The same in slices: a tensor may have more elements than can be checked in one turn. */
export class BytesElementsCheck {
  /** The result, once it is done. */
  problem: string | undefined = undefined;
  readonly #data: Uint8Array;
  readonly #elements: number;
  #element = 0;
  #offset = 0;

  constructor(data: Uint8Array, elements: number) {
    this.#data = data;
    this.#elements = elements;
  }

  /** True when it is done. */
  step(elementsMax: number): boolean {
    const data = this.#data;
    const end = Math.min(this.#elements, this.#element + elementsMax);
    let offset = this.#offset;
    for (let element = this.#element; element < end; element += 1) {
      const available = data.length - offset - bytesPrefixBytes;
      if (available === -bytesPrefixBytes) {
        return this.#found(`the data has ${element} BYTES elements, but the shape has ${this.#elements}`);
      }
      if (available < 0) {
        const there = available + bytesPrefixBytes;
        return this.#found(
          `BYTES element ${element} is truncated: only ${there} of the 4 bytes of its length are present`,
        );
      }
      const length = readUint32(data, offset);
      if (length > available) {
        return this.#found(`BYTES element ${element} declares ${length} bytes, but only ${available} bytes follow`);
      }
      offset += bytesPrefixBytes + length;
    }
    this.#element = end;
    this.#offset = offset;
    if (end < this.#elements) return false;
    if (offset === data.length) return true;
    return this.#found(`${data.length - offset} bytes follow the ${this.#elements} BYTES elements that the shape has`);
  }

  #found(problem: string): true {
    this.problem = problem;
    return true;
  }
}

/**
 * The offset of each row of an encoded BYTES tensor, found in one pass: row i is `data.subarray(offsets[i],
 * offsets[i + 1])`. Undefined when the data is not exactly `rows` rows of `elementsPerRow` elements. Memory is
 * allocated for `rows`, so it must be a limited number, like the rows of a batch.
 */
export function takeBytesRowOffsets(data: Uint8Array, rows: number, elementsPerRow: number): Float64Array | undefined {
  // Every element has a prefix: without this check a false number of rows would decide how much is allocated.
  if (elementsPerRow > 0 && rows * elementsPerRow > data.length / bytesPrefixBytes) return undefined;
  const offsets = new Float64Array(rows + 1);
  let offset = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let element = 0; element < elementsPerRow; element += 1) {
      if (offset + bytesPrefixBytes > data.length) return undefined;
      offset += bytesPrefixBytes + readUint32(data, offset);
    }
    if (offset > data.length) return undefined;
    offsets[row + 1] = offset;
  }
  return offset === data.length ? offsets : undefined;
}
