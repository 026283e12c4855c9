/** An inference request as the Open Inference Protocol and its binary tensor extension write it. */
import { InferenceError, JsonReader } from '@millrace/protocol';
import type { InferRequest } from '../../data-plane/infer.ts';
import type { Catalogue } from '../../registry/catalogue.ts';
import { type AnswerForm, binaryForm, jsonForm, type OutputForm } from '../classification/answer-form.ts';
import { BinaryTail } from './binary-tail.ts';
import { type InputLimits, type PendingInput, readInputs, resolveInputs } from './decode-inputs.ts';
import { readOutputs } from './decode-outputs.ts';
import { readParameters } from './parameters.ts';
import { rawBinaryInput } from './raw-binary.ts';
import { noRequestParameters, requestParametersFrom } from './request-parameters.ts';

export const headerLengthField = 'inference-header-content-length';

/** Everything but the body that says what is asked. */
export interface RequestFrame {
  readonly model: string;
  /** Empty: the one the model prefers. */
  readonly version: string;
  /** Bytes of JSON in front of the body; undefined: all of it, 0: none. */
  readonly jsonBytes: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly caller: string;
}

export interface DecodeLimits extends InputLimits {
  readonly jsonBytesMax: number;
  readonly outputsMax: number;
}

export interface DecodedRequest {
  readonly request: InferRequest;
  readonly form: AnswerForm;
}

export function decodeRequest(
  frame: RequestFrame,
  body: Uint8Array,
  catalogue: Catalogue,
  limits: DecodeLimits,
): DecodedRequest {
  if (frame.jsonBytes === 0) return decodeRawBinary(frame, body, catalogue);
  const jsonBytes = frame.jsonBytes ?? body.byteLength;
  if (jsonBytes > body.byteLength) {
    throw new InferenceError(
      'invalid-request',
      `Inference-Header-Content-Length is ${jsonBytes}, but the body has only ${body.byteLength} bytes`,
    );
  }
  if (jsonBytes > limits.jsonBytesMax) {
    throw new InferenceError(
      'request-too-large',
      `the JSON of the request has ${jsonBytes} bytes, more than the ${limits.jsonBytesMax} allowed; send tensors as binary data`,
    );
  }
  const json = readJson(new JsonReader(body.subarray(0, jsonBytes)), limits);
  const tail = new BinaryTail(body.subarray(jsonBytes), frame.model, frame.jsonBytes !== undefined);
  return {
    request: {
      model: frame.model,
      version: frame.version,
      id: json.id,
      parameters: json.parameters.forModel,
      inputs: resolveInputs(json.inputs, tail),
      outputs: [...json.outputs.keys()],
      timeoutMs: frame.timeoutMs,
      queueTimeoutMs: json.parameters.timeoutMs,
      priority: json.parameters.priority,
      sequence: json.parameters.sequence,
      caller: frame.caller,
    },
    form: { listed: json.outputs, unlisted: json.parameters.isBinaryByDefault ? binaryForm : jsonForm },
  };
}

/** The value of `Inference-Header-Content-Length`, which is at most 2^31 - 1 in the protocol. */
export function jsonBytesFromField(values: readonly string[]): number | undefined {
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length > 1 || !/^[0-9]{1,10}$/.test(value) || Number(value) > 2 ** 31 - 1) {
    throw new InferenceError(
      'invalid-request',
      `Inference-Header-Content-Length must be one number from 0 to 2147483647, not '${values.join(', ')}'`,
    );
  }
  return Number(value);
}

function readJson(reader: JsonReader, limits: DecodeLimits) {
  let id = '';
  let parameters = noRequestParameters;
  let inputs: readonly PendingInput[] | undefined;
  let outputs: ReadonlyMap<string, OutputForm> = new Map();
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'id') id = reader.readString();
    else if (key === 'parameters') parameters = requestParametersFrom(readParameters(reader, ''));
    else if (key === 'inputs') inputs = readInputs(reader, limits);
    else if (key === 'outputs') outputs = readOutputs(reader, limits.outputsMax);
    else reader.skipValue();
  }
  reader.expectEnd();
  if (inputs === undefined) throw new InferenceError('invalid-request', `the request has no 'inputs'`);
  return { id, parameters, inputs, outputs };
}

function decodeRawBinary(frame: RequestFrame, body: Uint8Array, catalogue: Catalogue): DecodedRequest {
  const { model, version, timeoutMs, caller } = frame;
  const input = rawBinaryInput(catalogue.mustFind(model, version), body);
  const parameters = noRequestParameters.forModel;
  return {
    request: {
      model,
      version,
      id: '',
      parameters,
      inputs: [input],
      outputs: [],
      timeoutMs,
      queueTimeoutMs: undefined,
      priority: 0,
      sequence: undefined,
      caller,
    },
    form: { listed: new Map(), unlisted: binaryForm },
  };
}
