/** ONNX models small enough to write by hand, for tests that need a real engine and a model that does one known thing. */
import type { Datatype } from '@millrace/protocol';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Element types as ONNX numbers them (TensorProto.DataType). */
export const onnxElementTypes: Readonly<Record<Datatype, number>> = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
  BF16: 16,
};

/** A dimension that is a string is free, with that name. */
export interface OnnxValue {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly (number | string)[];
}

export interface OnnxNode {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Default: the standard operators. */
  readonly domain?: string;
  /** Integers, lists of integers, tensors and graphs: all kinds that these models need. */
  readonly attributes?: Readonly<Record<string, number | readonly number[] | OnnxConstant | WrittenGraph>>;
}

interface OnnxTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** With its data in the model, or in an external file; strings as texts. */
export type OnnxConstant = OnnxTensor &
  (
    | { readonly data: Uint8Array }
    | { readonly texts: readonly string[] }
    | { readonly file: string; readonly fileBytes: number; readonly fileOffset?: number }
  );

export interface WrittenGraph {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  /** Further outputs that are sequences of maps from INT64 to FP32. */
  readonly mapOutputs?: readonly string[];
  readonly nodes: readonly OnnxNode[];
  readonly constants?: readonly OnnxConstant[];
  /** Version of the standard operators; default: 17. */
  readonly operatorSet?: number;
}

const irVersion = 8;
const operatorSetVersion = 17;
const externalLocation = 1;

export function onnxModelFrom(graph: WrittenGraph): Uint8Array {
  const model = new ProtobufWriter()
    .integer(1, irVersion)
    .string(2, 'millrace')
    .message(7, graphMessage(graph))
    .message(8, new ProtobufWriter().string(1, '').integer(2, graph.operatorSet ?? operatorSetVersion));
  const domains = new Set(graph.nodes.flatMap(({ domain }) => (domain === undefined ? [] : [domain])));
  for (const domain of domains) model.message(8, new ProtobufWriter().string(1, domain).integer(2, 1));
  return model.finish();
}

function graphMessage(graph: WrittenGraph): ProtobufWriter {
  const message = new ProtobufWriter();
  for (const node of graph.nodes) message.message(1, nodeMessage(node));
  message.string(2, 'graph');
  for (const constant of graph.constants ?? []) message.message(5, constantMessage(constant));
  for (const value of graph.inputs) message.message(11, valueMessage(value));
  for (const value of graph.outputs) message.message(12, valueMessage(value));
  for (const name of graph.mapOutputs ?? []) message.message(12, mapsMessage(name));
  return message;
}

function nodeMessage(node: OnnxNode): ProtobufWriter {
  const message = new ProtobufWriter();
  for (const input of node.inputs) message.string(1, input);
  for (const output of node.outputs) message.string(2, output);
  message.string(4, node.operator);
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    const attribute = new ProtobufWriter().string(1, name);
    if (typeof value === 'number') attribute.integer(3, value).integer(20, 2);
    else if ('datatype' in value) attribute.message(5, constantMessage(value)).integer(20, 4);
    else if ('nodes' in value) attribute.message(6, graphMessage(value)).integer(20, 5);
    else {
      for (const element of value) attribute.integer(8, element);
      attribute.integer(20, 7);
    }
    message.message(5, attribute);
  }
  return node.domain === undefined ? message : message.string(7, node.domain);
}

function constantMessage(constant: OnnxConstant): ProtobufWriter {
  const message = new ProtobufWriter();
  for (const dimension of constant.shape) message.integer(1, dimension);
  message.integer(2, onnxElementTypes[constant.datatype]).string(8, constant.name);
  if ('data' in constant) return message.raw(9, constant.data);
  if ('texts' in constant) {
    for (const text of constant.texts) message.string(6, text);
    return message;
  }
  const entry = (key: string, value: string): ProtobufWriter => new ProtobufWriter().string(1, key).string(2, value);
  return message
    .message(13, entry('location', constant.file))
    .message(13, entry('offset', String(constant.fileOffset ?? 0)))
    .message(13, entry('length', String(constant.fileBytes)))
    .integer(14, externalLocation);
}

function mapsMessage(name: string): ProtobufWriter {
  const tensor = new ProtobufWriter().message(1, new ProtobufWriter().integer(1, onnxElementTypes.FP32));
  const map = new ProtobufWriter().integer(1, onnxElementTypes.INT64).message(2, tensor);
  const sequence = new ProtobufWriter().message(1, new ProtobufWriter().message(5, map));
  return new ProtobufWriter().string(1, name).message(2, new ProtobufWriter().message(4, sequence));
}

function valueMessage(value: OnnxValue): ProtobufWriter {
  const shape = new ProtobufWriter();
  for (const dimension of value.shape) {
    const message = new ProtobufWriter();
    if (typeof dimension === 'number') message.integer(1, dimension);
    else message.string(2, dimension);
    shape.message(1, message);
  }
  const tensorType = new ProtobufWriter().integer(1, onnxElementTypes[value.datatype]).message(2, shape);
  return new ProtobufWriter().string(1, value.name).message(2, new ProtobufWriter().message(1, tensorType));
}
