import { quotedCharactersMax, shortened } from '../quote.ts';
import { jsonError, jsonErrorAt, jsonTooLargeAt } from './json-error.ts';
import type { LongValues } from './long-values.ts';
import { ObjectKeys } from './object-keys.ts';
import { StringScan, scanStringPart, textOfString, unclosedString } from './read-string.ts';
import { isWordAt, NumberScan, scanNumber, textOfNumber } from './scan-number.ts';

/** How deep arrays and objects may nest. */
export const jsonDepthMax = 100;

/** The longest run of white space between two tokens: more than any indentation, and read in one go. */
export const jsonSpaceBytesMax = 64 * 1024;

/** Limits the work that a text causes in a reader that never pauses. */
export interface JsonLimits {
  /** Keys of one object. */
  readonly keysMax: number;
  /** Bytes of a key as written. */
  readonly keyBytesMax: number;
  /** Bytes of the text except what `takeLong` skips. */
  readonly headBytesMax: number;
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** The position of a value, to be read when more is known: see `JsonReader.takeSpan`. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
  /** How deep the value is nested, so that the limit holds inside it. */
  readonly depth: number;
}

/**
 * Reads JSON text in memory, one value at a time, in the order of the text. Beyond the standard it reads NaN,
 * Infinity and -Infinity; it refuses duplicate keys, invalid UTF-8 and lone surrogates. Every error is an
 * `InferenceError` with code `invalid-request` that says where and what was expected.
 *
 *     reader.beginObject();
 *     for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
 *       if (key === 'id') id = reader.readString(); else reader.skipValue();
 *     }
 *     reader.expectEnd();
 *
 * Every value must be read or skipped before the next key or element is asked for.
 */
export class JsonReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** Offset of the next byte to read. Codecs that read values on their own (see tensor-reader.ts) move it. */
  position: number;
  /** The number last read by `scanNumber`. */
  readonly number = new NumberScan();
  readonly #string = new StringScan();
  #depth: number;
  readonly #keys = new ObjectKeys();
  /** An array or object was just begun: no comma precedes what follows. */
  #isFirst: boolean = false;
  readonly #limits: JsonLimits | undefined;
  /** Long values, found by their first byte, that can be skipped without reading. */
  readonly #longValues: LongValues | undefined;
  /** The end of the bytes that may be read at once. */
  #headEnd: number;

  constructor(bytes: Uint8Array, span?: JsonSpan, limits?: JsonLimits, longValues?: LongValues) {
    this.bytes = bytes;
    this.position = span === undefined ? 0 : span.start;
    this.end = span === undefined ? bytes.length : span.end;
    this.#depth = span === undefined ? 0 : span.depth;
    this.#limits = limits;
    this.#longValues = longValues;
    this.#headEnd = limits === undefined ? this.end : this.position + limits.headBytesMax;
  }

  /** A reader for a value whose span was taken before. */
  readerOf(span: JsonSpan): JsonReader {
    return new JsonReader(this.bytes, span);
  }

  /** The kind of the next value, by its first byte. */
  peekKind(): JsonKind {
    const byte = this.#skipSpace();
    switch (byte) {
      case 0x7b:
        return 'object';
      case 0x5b:
        return 'array';
      case 0x22:
        return 'string';
      case 0x74:
      case 0x66:
        return 'boolean';
      case 0x6e:
        return 'null';
      case 0x2d:
      case 0x49:
      case 0x4e:
        return 'number';
      default:
        if (byte >= 0x30 && byte <= 0x39) return 'number';
        throw this.#expected('a value');
    }
  }

  /** Whether the next value is an array; unlike `peekKind` it is allowed where no value may follow. */
  isAtArray(): boolean {
    return this.#skipSpace() === 0x5b;
  }

  /** Whether the object ends next. */
  isAtObjectEnd(): boolean {
    return this.#skipSpace() === 0x7d;
  }

  beginObject(): void {
    this.#begin(0x7b, 'an object');
    this.#keys.open();
  }

  /** The next key of the object, its colon skipped; undefined at the end of the object, which is skipped too. */
  nextKey(): string | undefined {
    let byte = this.#skipSpace();
    if (byte === 0x7d) {
      this.#finish();
      this.#keys.close();
      return undefined;
    }
    if (this.#isFirst) {
      this.#isFirst = false;
      if (byte !== 0x22) throw this.#expected("a key in double quotes or '}'");
    } else {
      if (byte !== 0x2c) throw this.#expected("',' or '}' after a member");
      this.position += 1;
      byte = this.#skipSpace();
      if (byte !== 0x22) throw this.#expected('a key in double quotes');
    }
    const start = this.position;
    const limits = this.#limits;
    if (limits !== undefined) this.#checkHead();
    const key = this.readString(limits?.keyBytesMax, 'a key');
    const keys = this.#keys.add(key);
    if (keys === 0) {
      const shown = JSON.stringify(shortened(key, quotedCharactersMax));
      throw jsonErrorAt(this.bytes, start, `the key ${shown} occurs twice`);
    }
    if (limits !== undefined && keys > limits.keysMax) {
      throw jsonTooLargeAt(this.bytes, start, `an object has more than ${limits.keysMax} keys`);
    }
    if (this.#skipSpace() !== 0x3a) throw this.#expected("':' after a key");
    this.position += 1;
    return key;
  }

  beginArray(): void {
    this.#begin(0x5b, 'an array');
  }

  /** Whether another element follows, its comma skipped; the end of the array is skipped too. */
  nextElement(): boolean {
    const byte = this.#skipSpace();
    if (byte === 0x5d) {
      this.#finish();
      return false;
    }
    if (this.#isFirst) {
      this.#isFirst = false;
      return true;
    }
    if (byte !== 0x2c) throw this.#expected("',' or ']' after an element");
    this.position += 1;
    if (this.#skipSpace() === 0x5d) throw this.#expected("a value after ','");
    return true;
  }

  /** `what` names the string in the error when it has more than `bytesMax` bytes as written. */
  readString(bytesMax?: number, what = 'a string'): string {
    this.#scanString(bytesMax, what);
    const start = this.position;
    this.position = this.#string.end;
    return textOfString(this.bytes, start, this.#string);
  }

  /**
   * For codecs that read the bytes of a string themselves, the opening quote skipped: scans up to the closing quote, or
   * to the first character at or after `stop`, whichever comes first.
   */
  scanStringPart(stop: number): boolean {
    const isClosed = scanStringPart(this.bytes, this.position, Math.min(stop, this.end), this.end, this.#string);
    if (!isClosed && this.#string.end >= this.end) throw unclosedString(this.bytes, this.position);
    return isClosed;
  }

  /** The result of `scanStringPart`. */
  get scannedString(): StringScan {
    return this.#string;
  }

  /** An exact number: a bigint where it is an integer that a double does not hold exactly. */
  readNumber(): number | bigint {
    if (!this.scanNumber()) throw this.#expected('a number');
    const { number } = this;
    if (number.isInteger && !Number.isSafeInteger(number.value)) return BigInt(textOfNumber(this.bytes, number));
    if (!Number.isFinite(number.value) && !number.isWord) {
      throw jsonErrorAt(this.bytes, number.start, 'a number is too large for a 64-bit float');
    }
    return number.value;
  }

  /** Scans a number into `number` and skips it; false, with nothing skipped, where no number begins. */
  scanNumber(): boolean {
    this.#skipSpace();
    if (!scanNumber(this.bytes, this.position, this.end, this.number)) return false;
    this.position = this.number.end;
    return true;
  }

  readBoolean(): boolean {
    const byte = this.#skipSpace();
    if (byte === 0x74 && isWordAt(this.bytes, this.position, this.end, 'true')) {
      this.position += 4;
      return true;
    }
    if (byte === 0x66 && isWordAt(this.bytes, this.position, this.end, 'false')) {
      this.position += 5;
      return false;
    }
    throw this.#expected('true or false');
  }

  readNull(): void {
    this.#skipSpace();
    if (!isWordAt(this.bytes, this.position, this.end, 'null')) throw this.#expected('null');
    this.position += 4;
  }

  /** Skips a value, checking all of it. */
  skipValue(): void {
    const kind = this.peekKind();
    if (this.#longValues !== undefined) this.#checkLong(this.#longValues);
    switch (kind) {
      case 'object':
        this.beginObject();
        while (this.nextKey() !== undefined) this.skipValue();
        return;
      case 'array':
        this.beginArray();
        while (this.nextElement()) {
          if (this.#limits !== undefined) this.#checkHead();
          this.skipValue();
        }
        return;
      case 'string':
        this.#scanString(undefined, 'a string');
        this.position = this.#string.end;
        return;
      case 'boolean':
        this.readBoolean();
        return;
      case 'null':
        this.readNull();
        return;
      case 'number':
        if (!this.scanNumber()) throw this.#expected('a value');
    }
  }

  /**
   * Skips a value quickly and returns its position. It is checked only as far as needed to find its end: whoever takes
   * a span must read it later with `readerOf`, or refuse the text.
   */
  takeSpan(): JsonSpan {
    const first = this.#skipSpace();
    const start = this.position;
    if (first === 0x5b || first === 0x7b) this.#passBrackets();
    else this.skipValue();
    return { start, end: this.position, depth: this.#depth };
  }

  /** Skips a value known to be long, and returns its position; undefined, with nothing skipped, for others. */
  takeLong(): JsonSpan | undefined {
    const longValues = this.#longValues;
    if (longValues === undefined) return undefined;
    this.#skipSpace();
    const start = this.position;
    const end = longValues.endOf(start);
    if (end === undefined) return undefined;
    this.position = end;
    this.#headEnd += end - start;
    return { start, end, depth: this.#depth };
  }

  /** Refuses anything but white space after the value. */
  expectEnd(): void {
    this.#skipSpace();
    if (this.position < this.end) throw this.#expected('the end of the text');
  }

  #begin(bracket: number, what: string): void {
    if (this.#skipSpace() !== bracket) throw this.#expected(what);
    if (this.#depth === jsonDepthMax) {
      throw jsonErrorAt(this.bytes, this.position, `arrays and objects are nested more than ${jsonDepthMax} deep`);
    }
    this.#depth += 1;
    this.position += 1;
    this.#isFirst = true;
  }

  #finish(): void {
    this.#depth -= 1;
    this.position += 1;
    this.#isFirst = false;
  }

  #passBrackets(): void {
    const { bytes, end } = this;
    let position = this.position;
    let open = 0;
    while (position < end) {
      const byte = bytes[position] as number;
      position += 1;
      if (byte < 0x5b) {
        if (byte !== 0x22) continue;
        while (position < end && bytes[position] !== 0x22) position += bytes[position] === 0x5c ? 2 : 1;
        position += 1;
      } else if ((byte | 0x20) === 0x7b) open += 1;
      else if ((byte | 0x20) === 0x7d) {
        open -= 1;
        if (open > 0) continue;
        this.position = position;
        return;
      }
    }
    throw jsonErrorAt(bytes, this.position, 'an array or object is not closed');
  }

  #scanString(bytesMax: number | undefined, what: string): void {
    if (this.#skipSpace() !== 0x22) throw this.#expected('a string');
    const { bytes, position, end } = this;
    const most = bytesMax ?? this.#limits?.headBytesMax;
    const stop = most === undefined ? end : Math.min(end, position + most + 2);
    if (scanStringPart(bytes, position + 1, stop, end, this.#string)) return;
    if (stop === end) throw unclosedString(bytes, position);
    throw jsonTooLargeAt(bytes, position, `${what} has more than ${most} bytes`);
  }

  /** A value known to be too long is refused before it is read. */
  #checkLong(longValues: LongValues): void {
    const end = longValues.endOf(this.position);
    if (end !== undefined && end > this.#headEnd) throw this.#headTooLarge();
  }

  #checkHead(): void {
    if (this.position > this.#headEnd) throw this.#headTooLarge();
  }

  #headTooLarge(): Error {
    return jsonTooLargeAt(
      this.bytes,
      this.position,
      `there are more than ${this.#limits?.headBytesMax} bytes beside the data of tensors; shorten names, parameters and other keys`,
    );
  }

  /** Skips white space and returns the byte after it, -1 at the end. */
  #skipSpace(): number {
    const { bytes, end } = this;
    let position = this.position;
    if (position < end && (bytes[position] as number) > 0x20) return bytes[position] as number;
    const stop = Math.min(end, position + jsonSpaceBytesMax + 1);
    while (position < stop) {
      const byte = bytes[position] as number;
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
        this.position = position;
        return byte;
      }
      position += 1;
    }
    if (stop < end) {
      throw jsonTooLargeAt(bytes, this.position, `there are more than ${jsonSpaceBytesMax} bytes of white space`);
    }
    this.position = position;
    return -1;
  }

  #expected(what: string): Error {
    return jsonError(this.bytes, this.position, this.end, what);
  }
}
