import type { ByteSource } from './byte-source.ts';
import { OnnxFileError } from './onnx-file-error.ts';

/** Bytes read at once. Few, because what is between two interesting fields is mostly weights to skip. */
export const windowBytes = 16 * 1024;
const varintBytesMax = 10;

/** A field's head. For length-delimited fields `[start, end)` is its content, otherwise `value` is its value. */
export interface WireField {
  readonly number: number;
  readonly isDelimited: boolean;
  readonly value: bigint;
  readonly start: number;
  readonly end: number;
}

/**
 * Reads protobuf wire format from a source of any size, in a window that follows the reading: a field that nobody
 * asks for is never read. Every length is checked against the message that contains it.
 */
export class WireReader {
  readonly #source: ByteSource;
  readonly #window = new Uint8Array(windowBytes);
  #windowStart = 0;
  #windowEnd = 0;
  #at = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  get sizeBytes(): number {
    return this.#source.sizeBytes;
  }

  /** Calls `visit` for each field of the message in `[start, end)`. What `visit` does not read is skipped. */
  async forEachField(
    start: number,
    end: number,
    visit: (field: WireField) => Promise<void> | undefined,
  ): Promise<void> {
    let at = start;
    while (at < end) {
      this.#at = at;
      // A field head is a tag and a length, or a tag and a value.
      if (!this.#holds(Math.min(2 * varintBytesMax, end - at))) await this.#fill();
      const field = this.#readHead(end);
      at = field.end;
      const visiting = visit(field);
      if (visiting !== undefined) await visiting;
    }
  }

  async readBytes(field: WireField, bytesMax: number, what: string): Promise<Uint8Array> {
    const length = field.end - field.start;
    if (length > bytesMax) {
      throw new OnnxFileError(`${what} at byte ${field.start} has ${length} bytes, more than ${bytesMax}`);
    }
    const bytes = new Uint8Array(length);
    if (field.start >= this.#windowStart && field.end <= this.#windowEnd) {
      bytes.set(this.#window.subarray(field.start - this.#windowStart, field.end - this.#windowStart));
    } else if ((await this.#source.readAt(field.start, bytes)) !== length) {
      throw new OnnxFileError(`the file became shorter while it was read; is it being written?`);
    }
    return bytes;
  }

  async readString(field: WireField, bytesMax: number, what: string): Promise<string> {
    return Buffer.from(await this.readBytes(field, bytesMax, what)).toString('utf8');
  }

  #readHead(end: number): WireField {
    const start = this.#at;
    const tag = this.#readVarint(end);
    const number = Number(tag >> 3n);
    if (number === 0 || number >= 2 ** 29) throw new OnnxFileError(`byte ${start} is not the start of a field`);
    switch (Number(tag & 7n)) {
      case 0: {
        const value = this.#readVarint(end);
        return { number, isDelimited: false, value, start: this.#at, end: this.#at };
      }
      case 1:
        return this.#fixed(number, start, 8, end);
      case 5:
        return this.#fixed(number, start, 4, end);
      case 2: {
        const length = this.#readVarint(end);
        const contentStart = this.#at;
        if (length > BigInt(end - contentStart)) {
          throw new OnnxFileError(
            `field ${number} at byte ${start} declares ${length} bytes where ${end - contentStart} are left: the file is truncated or damaged`,
          );
        }
        return { number, isDelimited: true, value: 0n, start: contentStart, end: contentStart + Number(length) };
      }
      default:
        throw new OnnxFileError(`byte ${start} has a wire type that ONNX files do not use: the file is damaged`);
    }
  }

  #fixed(number: number, start: number, bytes: number, end: number): WireField {
    if (end - this.#at < bytes) throw cutShort(start);
    return { number, isDelimited: false, value: 0n, start: this.#at, end: this.#at + bytes };
  }

  #readVarint(end: number): bigint {
    const start = this.#at;
    let low = 0;
    let value = 0n;
    for (let index = 0; index < varintBytesMax; index += 1) {
      if (this.#at >= end) throw cutShort(start);
      const byte = this.#window[this.#at - this.#windowStart] ?? 0;
      this.#at += 1;
      // Four bytes fit a number; most varints are no longer, and bigints are slow.
      if (index < 4) low |= (byte & 0x7f) << (7 * index);
      else value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return BigInt.asUintN(64, value | BigInt(low));
    }
    throw new OnnxFileError(`the number at byte ${start} is longer than ${varintBytesMax} bytes: the file is damaged`);
  }

  #holds(bytes: number): boolean {
    return this.#at >= this.#windowStart && this.#at + bytes <= this.#windowEnd;
  }

  async #fill(): Promise<void> {
    this.#windowStart = this.#at;
    this.#windowEnd = this.#at + (await this.#source.readAt(this.#at, this.#window));
    if (!this.#holds(Math.min(2 * varintBytesMax, this.#source.sizeBytes - this.#at))) {
      throw new OnnxFileError('the file became shorter while it was read; is it being written?');
    }
  }
}

function cutShort(at: number): OnnxFileError {
  return new OnnxFileError(`the field at byte ${at} is incomplete: the file is truncated or damaged`);
}
