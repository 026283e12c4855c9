/**
 * A ModelInferResponse in protobuf's binary form: the head in one piece, then the tensors without a copy. Small
 * tensors are copied after the head, which is cheaper than a piece of their own.
 */
import type { Tensor } from '@millrace/protocol';
import {
  delimitedFieldBytes,
  ProtoWriter,
  packedFieldBytes,
  textFieldBytes,
  varintBytes,
} from '../protobuf/proto-writer.ts';

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
    bytes += delimitedFieldBytes(outputHeadBytes(output));
    const { length } = output.data;
    bytes += 1 + varintBytes(length) + (length <= copiedBytesMax ? length : 0);
  }
  const writer = new ProtoWriter(bytes);
  writer.text(modelNameTag, response.model);
  writer.text(modelVersionTag, response.version);
  writer.text(idTag, response.id);
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs[index] as Tensor;
    writer.prefix(outputsTag, outputHeadBytes(output));
    writer.text(nameTag, output.name);
    writer.text(datatypeTag, output.datatype);
    writer.packed(shapeTag, output.shape);
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
  return textFieldBytes(name) + textFieldBytes(datatype) + packedFieldBytes(shape);
}
