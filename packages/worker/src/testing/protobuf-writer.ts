/** As much of the protobuf wire format as an ONNX model needs: varints, strings, bytes and nested messages. */
export class ProtobufWriter {
  readonly #bytes: number[] = [];

  integer(field: number, value: number | bigint): this {
    this.#varint((field << 3) | 0);
    this.#varint(value);
    return this;
  }

  string(field: number, value: string): this {
    return this.raw(field, new TextEncoder().encode(value));
  }

  message(field: number, message: ProtobufWriter): this {
    return this.raw(field, message.finish());
  }

  raw(field: number, bytes: Uint8Array): this {
    this.#varint((field << 3) | 2);
    this.#varint(bytes.length);
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #varint(value: number | bigint): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      this.#bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.#bytes.push(Number(rest));
  }
}
