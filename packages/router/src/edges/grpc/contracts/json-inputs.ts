/** Inputs by name in one JSON object: values, lists of them, or lists in lists as the shape says. */
import {
  InferenceError,
  JsonReader,
  type JsonValue,
  nearestName,
  quote,
  readJsonValue,
  readTensorData,
  stringifyJson,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import { shapeForCount } from '../../fitting-shape.ts';
import { tooLarge } from '../../streams/frame-limits.ts';

/** It is read at once. */
export const jsonPayloadBytesMax: number = 128 * 1024;
const limits = { keysMax: 256, keyBytesMax: 4096, headBytesMax: jsonPayloadBytesMax };

/** Throws an `InferenceError` for what the model does not take. */
export function tensorsFromJson(bytes: Uint8Array, model: string, inputs: readonly TensorSpec[]): readonly Tensor[] {
  if (bytes.length > jsonPayloadBytesMax) {
    throw tooLarge(
      `the JSON of the payload has ${bytes.length} bytes, more than the ${jsonPayloadBytesMax} allowed; send application/octet-stream, or call ModelInfer of inference.GRPCInferenceService`,
    );
  }
  const value = parsed(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('the payload is no JSON object; send inputs by name, such as {"text": "…"}');
  }
  return Object.entries(value).map(([name, data]) => {
    const spec = inputs.find((input) => input.name === name);
    if (spec === undefined) throw unknownInput(name, model, inputs);
    return tensorFrom(spec, data);
  });
}

function parsed(bytes: Uint8Array): JsonValue {
  const reader = new JsonReader(bytes, undefined, limits);
  try {
    const value = readJsonValue(reader);
    reader.expectEnd();
    return value;
  } catch (error) {
    if (!(error instanceof InferenceError) || error.code !== 'invalid-request') throw error;
    throw invalid(`the payload is application/json and cannot be read: ${error.message}`);
  }
}

function unknownInput(name: string, model: string, inputs: readonly TensorSpec[]): InferenceError {
  const known = inputs.map((input) => input.name);
  const meant = nearestName(name, known);
  const hint = meant === undefined ? `it has ${known.join(', ')}` : `did you mean ${meant}?`;
  return invalid(`${model} has no input ${quote(name)}; ${hint}; parameters go into metadata["parameters"]`);
}

function tensorFrom(spec: TensorSpec, value: JsonValue): Tensor {
  const { name, datatype } = spec;
  const list = Array.isArray(value) ? value : [value];
  const count = leavesOf(list);
  const sizes = sizesOf(list);
  const isWhole = sizes.length === spec.shape.length && sizes.reduce((product, size) => product * size, 1) === count;
  const shape = isWhole ? sizes : shapeForCount(spec.shape, count);
  if (shape === undefined || count === 0) {
    throw invalid(`input ${quote(name)} has ${count} elements, which do not fit its shape [${spec.shape.join(',')}]`);
  }
  const reader = new JsonReader(Buffer.from(stringifyJson(list)));
  const data = readTensorData(reader, { name, datatype, shape }, { acceptsHalfPrecision: true });
  return { name, datatype, shape, data };
}

function leavesOf(value: JsonValue): number {
  if (!Array.isArray(value)) return 1;
  return value.reduce<number>((sum, inside) => sum + leavesOf(inside), 0);
}

/** Of the first lists: where others differ, the number of elements does not fit. */
function sizesOf(value: JsonValue): readonly number[] {
  if (!Array.isArray(value)) return [];
  return [value.length, ...sizesOf(value[0] ?? null)];
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
