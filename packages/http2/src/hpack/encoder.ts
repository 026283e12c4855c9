/** HPACK encoding (RFC 7541), directly into the output's buffer. */
import { isTransportField, mustBeSendable } from '../header-field.ts';
import { tableBytesDefault } from './decoder.ts';
import { EncoderTable } from './encoder-table.ts';
import { encodeHuffman, huffmanBytes } from './huffman-encoder.ts';
import { staticCount, staticNames, staticStatuses } from './static-table.ts';

/** Fields whose values seldom repeat: not added to the table, where they would evict those that do. */
const unindexedNames = new Set([
  'content-length',
  'content-range',
  'etag',
  'grpc-message',
  'grpc-status-details-bin',
  'grpc-timeout',
  'last-modified',
  'location',
  'set-cookie',
  'x-request-id',
]);
/** Longer values are not worth their space in the table. */
const indexedValueCharactersMax = 256;
/** Most bytes that the prefix, integers and size updates of one field take. */
const fieldOverheadBytes = 16;

export class HpackEncoder {
  readonly #table = new EncoderTable(tableBytesDefault);
  /** The smallest limit the peer set since the last block, -1 if none: the next block must acknowledge it (4.2). */
  #resizedTo = -1;

  get tableBytes(): number {
    return this.#table.bytes;
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE; the encoder uses at most the default. */
  limitTable(bytesMax: number): void {
    const size = Math.min(bytesMax, tableBytesDefault);
    if (size === this.#table.bytesMax && this.#resizedTo < 0) return;
    this.#resizedTo = this.#resizedTo < 0 ? size : Math.min(this.#resizedTo, size);
    this.#table.resize(size);
  }

  /** A block was begun and not sent: the peer's table lacks its entries, so the next block empties both tables. */
  reset(): void {
    const size = this.#table.bytesMax;
    this.#table.resize(0);
    this.#table.resize(size);
    this.#resizedTo = 0;
  }

  /** The most bytes that a block of these fields can take. */
  static bytesMax(fields: readonly (readonly [string, string])[]): number {
    let bytes = fieldOverheadBytes * (fields.length + 2);
    for (let at = 0; at < fields.length; at++) {
      const field = fields[at] as readonly [string, string];
      bytes += field[0].length + field[1].length;
    }
    return bytes;
  }

  /** Begins a block; call it before the first field of each. Returns the offset behind what it wrote. */
  begin(into: Uint8Array, offset: number): number {
    if (this.#resizedTo < 0) return offset;
    let at = offset;
    if (this.#resizedTo < this.#table.bytesMax) at = encodeInteger(into, at, 0x20, 0x1f, this.#resizedTo);
    at = encodeInteger(into, at, 0x20, 0x1f, this.#table.bytesMax);
    this.#resizedTo = -1;
    return at;
  }

  encodeStatus(status: number, into: Uint8Array, offset: number): number {
    const index = staticStatuses.get(status);
    if (index !== undefined) {
      into[offset] = 0x80 | index;
      return offset + 1;
    }
    return this.encodeOwn(':status', String(status), into, offset);
  }

  /** Writes an application's field; skips one that the transport sets, throws for one that may not be sent. */
  encode(name: string, value: string, into: Buffer, offset: number): number {
    if (isTransportField(name)) return offset;
    const age = this.#table.ageOf(name, value);
    if (age >= 0) return encodeInteger(into, offset, 0x80, 0x7f, staticCount + 1 + age);
    mustBeSendable(name, value);
    return this.#encodeLiteral(name, value, into, offset);
  }

  /** Writes a field of the transport, known to be valid. */
  encodeOwn(name: string, value: string, into: Uint8Array, offset: number): number {
    const age = this.#table.ageOf(name, value);
    if (age >= 0) return encodeInteger(into, offset, 0x80, 0x7f, staticCount + 1 + age);
    return this.#encodeLiteral(name, value, into, offset);
  }

  #encodeLiteral(name: string, value: string, into: Uint8Array, offset: number): number {
    const isIndexed =
      value.length <= indexedValueCharactersMax && !unindexedNames.has(name) && this.#table.insert(name, value);
    const nameIndex = staticNames.get(name) ?? 0;
    let at = isIndexed
      ? encodeInteger(into, offset, 0x40, 0x3f, nameIndex)
      : encodeInteger(into, offset, 0x00, 0x0f, nameIndex);
    if (nameIndex === 0) at = encodeString(name, into, at);
    return encodeString(value, into, at);
  }
}

function encodeInteger(into: Uint8Array, offset: number, flags: number, mask: number, value: number): number {
  let at = offset;
  if (value < mask) {
    into[at++] = flags | value;
    return at;
  }
  into[at++] = flags | mask;
  let rest = value - mask;
  while (rest >= 0x80) {
    into[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  into[at++] = rest;
  return at;
}

function encodeString(text: string, into: Uint8Array, offset: number): number {
  const coded = huffmanBytes(text);
  if (coded < text.length) return encodeHuffman(text, into, encodeInteger(into, offset, 0x80, 0x7f, coded));
  let at = encodeInteger(into, offset, 0x00, 0x7f, text.length);
  for (let index = 0; index < text.length; index++) into[at++] = text.charCodeAt(index);
  return at;
}
