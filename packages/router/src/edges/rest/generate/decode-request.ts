/** A request of Triton's generate extension: one JSON object, whose fields are inputs by name, and parameters otherwise. */
import {
  InferenceError,
  type JsonLimits,
  type JsonObject,
  JsonReader,
  type JsonValue,
  listed,
  nearestName,
  quote,
  readJsonValue,
  readTensorData,
  stringifyJson,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import { type InferRequest, noTrail, type ParameterValue } from '../../../data-plane/infer.ts';
import { withSamplingParameters } from '../../../data-plane/sampling-parameters.ts';
import type { ModelView } from '../../../model/model-view.ts';
import { shapeForCount } from '../../fitting-shape.ts';
import { restRequestParametersFrom } from '../request-parameters.ts';

export interface GenerateFrame {
  readonly view: ModelView;
  /** As in the path; without a version: the one that the model prefers. */
  readonly model: string;
  readonly version: string;
  readonly caller: string;
  /** Of the header field; undefined: none. */
  readonly timeoutMs: number | undefined;
  readonly deadlineAfter: (timeoutMs: number | undefined) => number;
  /** The body is read at once, so these bound how long that takes. */
  readonly limits: JsonLimits;
}

/** Throws an `InferenceError` for what is malformed. */
export function decodeGenerateRequest(frame: GenerateFrame, body: Uint8Array): InferRequest {
  const { view, model, version, caller, deadlineAfter } = frame;
  const { id = '', parameters: nested, ...top } = objectFrom(parsed(body, frame.limits), 'the body');
  if (typeof id !== 'string') throw invalid('"id" must be a string');
  const fields = { ...top, ...(nested === undefined ? {} : objectFrom(nested, '"parameters"')) };
  const inputs: Tensor[] = [];
  const parameters = new Map<string, ParameterValue>();
  // Of a generator: lists and objects, such as several stop strings.
  const structured: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    const spec = view.inputs.find((input) => input.name === name);
    if (spec !== undefined) inputs.push(tensorFrom(spec, value));
    else if (isPlain(value)) parameters.set(name, value);
    else if (view.isGenerator === true) structured[name] = value;
    else throw invalid(`parameter ${quote(name)} must be a string, a number or a boolean`);
  }
  refuseMissing(
    view,
    Object.keys(fields).filter((name) => !inputs.some((input) => input.name === name)),
    inputs,
  );
  const { timeoutMs, queueTimeoutMs, priority, sequence, forModel } = restRequestParametersFrom(parameters);
  return {
    target: { model, version, id, parameters: forModel, outputs: [], sequence },
    inputs: withSamplingParameters(inputs, structured),
    origin: {
      caller,
      deadlineAt: deadlineAfter(frame.timeoutMs ?? timeoutMs),
      queueTimeoutMs,
      priority,
      trail: noTrail,
    },
  };
}

/** A field whose name is misspelt counts as a parameter, so that the input is missing: both are named. */
function refuseMissing({ name: model, inputs }: ModelView, others: readonly string[], given: readonly Tensor[]): void {
  const missing = inputs.filter((spec) => spec.isOptional !== true && !given.some(({ name }) => name === spec.name));
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name);
  const meant = others.flatMap((other) => {
    const near = nearestName(other, names);
    return near === undefined ? [] : [`; did you mean ${quote(near)} by ${quote(other)}?`];
  });
  const got =
    others.length === 0
      ? ''
      : `; ${listed(others.map(quote), 5)} ${others.length === 1 ? 'is no input' : 'are no inputs'} of it`;
  throw invalid(
    `the body has no field ${listed(names.map(quote), 5)}, which model ${quote(model)} needs as input${got}${meant[0] ?? ''}`,
  );
}

function parsed(body: Uint8Array, limits: JsonLimits): JsonValue {
  const reader = new JsonReader(body, undefined, limits);
  try {
    const value = readJsonValue(reader);
    reader.expectEnd();
    return value;
  } catch (error) {
    if (error instanceof InferenceError && error.code !== 'invalid-request') throw error;
    throw invalid(`failed to parse the request JSON buffer: ${(error as Error).message}`);
  }
}

function objectFrom(value: JsonValue, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw invalid(`${what} must be a JSON object`);
}

function isPlain(value: JsonValue): value is ParameterValue {
  return value !== null && typeof value !== 'object';
}

/** A single value is a list of one. */
function tensorFrom(spec: TensorSpec, value: JsonValue): Tensor {
  const { name, datatype } = spec;
  const values = Array.isArray(value) ? value : [value];
  if (values.some((element) => !isPlain(element))) {
    throw invalid(`input ${quote(name)} must be a string, a number, a boolean, or a flat list of them`);
  }
  const shape = shapeForCount(spec.shape, values.length);
  if (shape === undefined) {
    throw invalid(
      `input ${quote(name)} has ${values.length} elements, which do not fit its shape [${spec.shape.join(',')}]`,
    );
  }
  return {
    name,
    datatype,
    shape,
    data: readTensorData(new JsonReader(Buffer.from(stringifyJson(values))), { name, datatype, shape }),
  };
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
