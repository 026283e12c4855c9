/** As much of the protobuf wire format as an ONNX model needs: varints, strings, bytes and nested messages. */
import { delimitedHead, varint } from '@millrace/protocol';

export class ProtobufWriter {
  readonly #bytes: number[] = [];

  integer(field: number, value: number | bigint): this {
    this.#bytes.push(...varint(field << 3), ...varint(value));
    return this;
  }

  string(field: number, value: string): this {
    return this.raw(field, new TextEncoder().encode(value));
  }

  message(field: number, message: ProtobufWriter): this {
    return this.raw(field, message.finish());
  }

  raw(field: number, bytes: Uint8Array): this {
    this.#bytes.push(...delimitedHead(field, bytes.length));
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}
