/**
 * A ModelInferResponse in protobuf's binary form: the head in one piece, then the tensors without a copy. Small
 * tensors are copied after the head, which is cheaper than a piece of their own.
 */
import type { Tensor } from '@millrace/protocol';

/** The contents of the message; an `InferAnswer` is one. */
export interface InferResponse {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly Tensor[];
}

/** Tensors up to here are copied. */
const copiedBytesMax = 4096;

const modelNameTag = 0x0a;
const modelVersionTag = 0x12;
const idTag = 0x1a;
const outputsTag = 0x2a;
const rawOutputContentsTag = 0x32;
const nameTag = 0x0a;
const datatypeTag = 0x12;
const shapeTag = 0x1a;

export function encodeResponse(response: InferResponse): readonly Uint8Array[] {
  const { outputs } = response;
  let bytes = textFieldBytes(response.model) + textFieldBytes(response.version) + textFieldBytes(response.id);
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs[index] as Tensor;
    const outputBytes = outputHeadBytes(output);
    bytes += 1 + varintBytes(outputBytes) + outputBytes;
    const { length } = output.data;
    bytes += 1 + varintBytes(length) + (length <= copiedBytesMax ? length : 0);
  }
  const writer = new HeadWriter(bytes);
  writer.text(modelNameTag, response.model);
  writer.text(modelVersionTag, response.version);
  writer.text(idTag, response.id);
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs[index] as Tensor;
    writer.prefix(outputsTag, outputHeadBytes(output));
    writer.text(nameTag, output.name);
    writer.text(datatypeTag, output.datatype);
    writer.shape(output.shape);
  }
  const pieces: Uint8Array[] = [];
  for (let index = 0; index < outputs.length; index++) {
    const { data } = outputs[index] as Tensor;
    writer.prefix(rawOutputContentsTag, data.length);
    if (data.length <= copiedBytesMax) writer.copy(data);
    else pieces.push(writer.cut(), data);
  }
  if (writer.isPending) pieces.push(writer.cut());
  return pieces;
}

function outputHeadBytes({ name, datatype, shape }: Tensor): number {
  const packed = shapeBytes(shape);
  return textFieldBytes(name) + textFieldBytes(datatype) + (packed === 0 ? 0 : 1 + varintBytes(packed) + packed);
}

function shapeBytes(shape: readonly number[]): number {
  let bytes = 0;
  for (let axis = 0; axis < shape.length; axis++) bytes += varintBytes(shape[axis] as number);
  return bytes;
}

/** Bytes of a natural number as a varint. */
function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

/** An empty text is not written: it is the default. */
function textFieldBytes(text: string): number {
  if (text === '') return 0;
  const bytes = textBytes(text);
  return 1 + varintBytes(bytes) + bytes;
}

function textBytes(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return Buffer.byteLength(text);
  return text.length;
}

class HeadWriter {
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

  prefix(tag: number, length: number): void {
    this.#bytes[this.#at++] = tag;
    this.#varint(length);
  }

  text(tag: number, text: string): void {
    if (text === '') return;
    const bytes = textBytes(text);
    this.prefix(tag, bytes);
    if (bytes !== text.length) {
      this.#at += this.#bytes.write(text, this.#at);
      return;
    }
    for (let at = 0; at < bytes; at++) this.#bytes[this.#at++] = text.charCodeAt(at);
  }

  shape(shape: readonly number[]): void {
    const packed = shapeBytes(shape);
    if (packed === 0) return;
    this.prefix(shapeTag, packed);
    for (let axis = 0; axis < shape.length; axis++) this.#varint(shape[axis] as number);
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
