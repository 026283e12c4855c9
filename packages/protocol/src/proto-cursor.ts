/** Walks protobuf's binary form without copying or allocating. Throws a `MalformedMessage` for invalid bytes. */
import { InferenceError } from './errors.ts';

export class MalformedMessage extends InferenceError {
  constructor(what: string) {
    super('invalid-request', `the message is not valid protobuf: ${what}`);
    this.name = 'MalformedMessage';
  }
}

/** Fields of a message together with those of the messages in it; beyond them it is refused. */
export const messageFieldsMax = 262_144;

export const wireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

export class ProtoCursor {
  bytes: Uint8Array;
  at: number;
  end: number;
  /** How many fields may follow: skipping them takes time too. */
  fieldsLeft = Number.POSITIVE_INFINITY;
  /** The two halves of the last 64-bit varint, each as an unsigned number. */
  low = 0;
  high = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.at = 0;
    this.end = bytes.length;
  }

  reset(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.at = 0;
    this.end = bytes.length;
  }

  /** The next field as `number << 3 | wire type`; 0 at the end. */
  nextTag(): number {
    if (this.at >= this.end) return 0;
    if (--this.fieldsLeft < 0) throw new MalformedMessage('it has too many fields');
    const first = this.bytes[this.at] as number;
    let tag = first;
    if (first < 128) this.at++;
    else {
      this.readVarint();
      if (this.high !== 0) throw new MalformedMessage('a field number is too large');
      tag = this.low;
    }
    if (tag >>> 3 === 0) throw new MalformedMessage('a field has the number 0');
    return tag;
  }

  /** Reads a varint into `low` and `high`. */
  readVarint(): void {
    const { bytes, end } = this;
    let at = this.at;
    let low = 0;
    let high = 0;
    let shift = 0;
    for (;;) {
      if (at >= end || shift > 63) throw new MalformedMessage('a number does not end');
      const byte = bytes[at++] as number;
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 128) break;
      shift += 7;
    }
    this.at = at;
    this.low = low >>> 0;
    this.high = high >>> 0;
  }

  /** A signed 64-bit integer as the nearest number. */
  readInt64(): number {
    const first = this.bytes[this.at] as number;
    if (this.at < this.end && first < 128) {
      this.at++;
      return first;
    }
    this.readVarint();
    return (this.high | 0) * 0x1_0000_0000 + this.low;
  }

  /** An unsigned 64-bit integer; above 2^53 the nearest number. */
  readUint64(): number {
    const first = this.bytes[this.at] as number;
    if (this.at < this.end && first < 128) {
      this.at++;
      return first;
    }
    this.readVarint();
    return this.high * 0x1_0000_0000 + this.low;
  }

  readBool(): boolean {
    this.readVarint();
    return this.low !== 0 || this.high !== 0;
  }

  readDouble(): number {
    const { bytes, at } = this;
    this.#leap(8);
    return new DataView(bytes.buffer, bytes.byteOffset + at, 8).getFloat64(0, true);
  }

  /** The end of a delimited field whose length comes next; `at` is its beginning. */
  readLength(): number {
    const first = this.bytes[this.at] as number;
    let length = first;
    if (this.at < this.end && first < 128) this.at++;
    else {
      this.readVarint();
      if (this.high !== 0) throw new MalformedMessage('a length is too large');
      length = this.low;
    }
    const stop = this.at + length;
    if (stop > this.end) throw new MalformedMessage('a field is longer than what is left of its message');
    return stop;
  }

  /** A delimited field as a view. */
  readBytes(): Uint8Array {
    const stop = this.readLength();
    const view = this.bytes.subarray(this.at, stop);
    this.at = stop;
    return view;
  }

  skip(tag: number): void {
    switch (tag & 7) {
      case wireType.varint:
        this.readVarint();
        return;
      case wireType.fixed64:
        this.#leap(8);
        return;
      case wireType.delimited:
        this.at = this.readLength();
        return;
      case wireType.fixed32:
        this.#leap(4);
        return;
      default:
        throw new MalformedMessage(`field ${tag >>> 3} has the wire type ${tag & 7}`);
    }
  }

  #leap(count: number): void {
    if (this.at + count > this.end) throw new MalformedMessage('a field is longer than what is left of its message');
    this.at += count;
  }
}
