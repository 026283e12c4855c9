/** Writes protobuf's binary form into memory that was measured before: sizes first, then the fields in the same order. */
import { varint } from '@millrace/protocol';

/** A negative number takes 64 bits. */
const negativeVarintBytes = 10;

/** Bytes of an integer as a varint. */
export function varintBytes(value: number): number {
  if (value < 0) return negativeVarintBytes;
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** Bytes of a text, bytes or a message with its tag, which has one byte, and its length. */
export function delimitedFieldBytes(contentBytes: number): number {
  return 1 + varintBytes(contentBytes) + contentBytes;
}

/** An empty text is not written: it is the default. */
export function textFieldBytes(text: string): number {
  return text === '' ? 0 : delimitedFieldBytes(utf8LengthOf(text));
}

/** Neither is zero. */
export function numberFieldBytes(value: number): number {
  return value === 0 ? 0 : 1 + varintBytes(value);
}

/** The numbers of a packed list, without tag and length. */
function packedBytes(values: readonly number[]): number {
  let bytes = 0;
  for (let index = 0; index < values.length; index++) bytes += varintBytes(values[index] as number);
  return bytes;
}

export function packedFieldBytes(values: readonly number[]): number {
  return values.length === 0 ? 0 : delimitedFieldBytes(packedBytes(values));
}

/** Texts are mostly names in ASCII, whose length is known without encoding. */
export function utf8LengthOf(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return Buffer.byteLength(text);
  return text.length;
}

export class ProtoWriter {
  readonly #bytes: Buffer;
  #at = 0;
  #cutAt = 0;

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafe(bytes);
  }

  get isPending(): boolean {
    return this.#at > this.#cutAt;
  }

  /** What was written since the last cut. */
  cut(): Uint8Array {
    const isWhole = this.#cutAt === 0 && this.#at === this.#bytes.length;
    const piece = isWhole ? this.#bytes : this.#bytes.subarray(this.#cutAt, this.#at);
    this.#cutAt = this.#at;
    return piece;
  }

  /** The tag and the length of what is written next. */
  prefix(tag: number, length: number): void {
    this.#bytes[this.#at++] = tag;
    this.#varint(length);
  }

  text(tag: number, text: string): void {
    if (text !== '') this.presentText(tag, text);
  }

  /** Also where it is empty: in a oneof that says something. */
  presentText(tag: number, text: string): void {
    const bytes = utf8LengthOf(text);
    this.prefix(tag, bytes);
    if (bytes !== text.length) {
      this.#at += this.#bytes.write(text, this.#at);
      return;
    }
    for (let at = 0; at < bytes; at++) this.#bytes[this.#at++] = text.charCodeAt(at);
  }

  number(tag: number, value: number): void {
    if (value !== 0) this.presentNumber(tag, value);
  }

  presentNumber(tag: number, value: number): void {
    this.#bytes[this.#at++] = tag;
    if (value < 0) this.copy(varint(value));
    else this.#varint(value);
  }

  packed(tag: number, values: readonly number[]): void {
    const bytes = packedBytes(values);
    if (bytes === 0) return;
    this.prefix(tag, bytes);
    for (let index = 0; index < values.length; index++) this.#varint(values[index] as number);
  }

  copy(data: Uint8Array): void {
    this.#bytes.set(data, this.#at);
    this.#at += data.length;
  }

  /** Writes without allocating: `varint` of the protocol makes an array for each number, and every answer has many. */
  #varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }
}
