/** Writes protobuf's binary form into memory that grows; a message inside another is written first and then copied in. */
const encoder = /* @__PURE__ */ new TextEncoder();
const initialBytes = 256;

export class ByteWriter {
  #bytes = new Uint8Array(initialBytes);
  #at = 0;

  /** What was written; the writer is empty afterwards. The memory is the caller's. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.#at);
    this.#bytes = new Uint8Array(initialBytes);
    this.#at = 0;
    return taken;
  }

  /** Not written where it is zero, the default. */
  number(field: number, value: number): void {
    if (value !== 0) this.presentNumber(field, value);
  }

  presentNumber(field: number, value: number): void {
    this.#varint(field * 8);
    this.#varint(value);
  }

  /** A 64-bit integer. */
  presentInteger(field: number, value: bigint): void {
    this.#varint(field * 8);
    this.#wideVarint(BigInt.asUintN(64, value));
  }

  text(field: number, text: string): void {
    if (text !== '') this.bytes(field, encoder.encode(text));
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.#varint(field * 8 + 2);
    this.#varint(bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** A double, in a field of wire type 1. */
  double(field: number, value: number): void {
    this.#varint(field * 8 + 1);
    this.#room(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  message(field: number, write: (inner: ByteWriter) => void): void {
    const inner = new ByteWriter();
    write(inner);
    this.bytes(field, inner.take());
  }

  packed(field: number, values: readonly number[]): void {
    if (values.length === 0) return;
    this.message(field, (inner) => {
      for (const value of values) inner.#varint(value);
    });
  }

  /** A negative number has the ten bytes of 64 bits. */
  #varint(value: number): void {
    this.#room(10);
    if (value < 0) {
      this.#wideVarint(BigInt.asUintN(64, BigInt(value)));
      return;
    }
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.#at++] = (rest % 128) | 128;
    this.#bytes[this.#at++] = rest;
  }

  #wideVarint(value: bigint): void {
    this.#room(10);
    let rest = value;
    for (; rest > 127n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | 128;
    this.#bytes[this.#at++] = Number(rest);
  }

  #room(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + count));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
  }
}
