/** Requests and answers as they travel: JSON alone, or JSON followed by the bytes of the tensors. */
import {
  type JsonObject,
  JsonReader,
  type JsonValue,
  JsonWriter,
  parseJson,
  readTensorData,
  stringifyJson,
  type Tensor,
  type TensorSpec,
  tensorProblem,
  writeTensorData,
} from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { isObject, objectFrom } from '../server-call.ts';
import { type EncodedRequest, type InferenceAnswerBody, tensorSpecsFrom } from './inference-client.ts';

const encoder = new TextEncoder();

export function encodeInferRequest(
  inputs: readonly Tensor[],
  isBinary: boolean,
  parameters: JsonObject = {},
): EncodedRequest {
  const hasParameters = Object.keys(parameters).length > 0;
  if (!isBinary) {
    const described = inputs.map((input) => ({ ...headerOf(input), data: jsonDataOf(input) }));
    const request = { ...(hasParameters ? { parameters } : {}), inputs: described };
    return { body: encoder.encode(stringifyJson(request)), jsonBytes: undefined };
  }
  const described = inputs.map((input) => ({
    ...headerOf(input),
    parameters: { binary_data_size: input.data.length },
  }));
  const json = encoder.encode(
    stringifyJson({ parameters: { ...parameters, binary_data_output: true }, inputs: described }),
  );
  return { body: Buffer.concat([json, ...inputs.map((input) => input.data)]), jsonBytes: json.length };
}

export interface DecodedAnswer {
  readonly model: string;
  readonly version: string;
  readonly outputs: readonly Tensor[];
}

export function decodeInferAnswer(answer: InferenceAnswerBody): DecodedAnswer {
  const jsonBytes = answer.jsonBytes ?? answer.body.length;
  if (!(jsonBytes >= 0 && jsonBytes <= answer.body.length))
    throw new CommandFailure('the answer of the server is shorter than its header says');
  const json = objectFrom(answer.body.subarray(0, jsonBytes));
  const specs = tensorSpecsFrom(json.outputs);
  let offset = jsonBytes;
  const outputs = specs.map((spec, index): Tensor => {
    const entry = (json.outputs as JsonValue[])[index] as JsonObject;
    const size = isObject(entry.parameters) ? entry.parameters.binary_data_size : undefined;
    if (typeof size !== 'number') return { ...headerOf(spec), data: dataFrom(spec, entry.data) };
    offset += size;
    return { ...headerOf(spec), data: answer.body.subarray(offset - size, offset) };
  });
  for (const output of outputs) {
    const problem = tensorProblem(output.datatype, output.shape, output.data);
    if (problem !== undefined) throw new CommandFailure(`output ${output.name} of the answer is invalid: ${problem}`);
  }
  return { model: String(json.model_name ?? ''), version: String(json.model_version ?? ''), outputs };
}

function dataFrom(spec: TensorSpec, data: JsonValue | undefined): Uint8Array {
  try {
    const reader = new JsonReader(encoder.encode(stringifyJson(data ?? null)));
    return readTensorData(reader, spec, { acceptsHalfPrecision: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(`output ${spec.name} of the answer is invalid: ${why}`);
  }
}

function headerOf({ name, datatype, shape }: TensorSpec): {
  name: string;
  datatype: Tensor['datatype'];
  shape: number[];
} {
  return { name, datatype, shape: [...shape] };
}

/** The elements as a flat list for JSON. Throws an `InferenceError` for BYTES that are not text. */
export function jsonDataOf(tensor: Tensor): JsonValue[] {
  const writer = new JsonWriter();
  writeTensorData(writer, tensor);
  return parseJson(writer.take()) as JsonValue[];
}
