/** The JSON of an inference request, but for tensors that lie behind it. */
import { copyOf, InferenceError, JsonReader } from '@millrace/protocol';
import { type AnswerForm, binaryForm, jsonForm, type OutputForm } from '../classification/answer-form.ts';
import { TemplateSlot } from './answer-template.ts';
import { type InputLimits, type PendingInput, readInputs } from './decode-inputs.ts';
import { readOutputs } from './decode-outputs.ts';
import { readParameters } from './parameters.ts';
import { noRequestParameters, type RequestParameters, requestParametersFrom } from './request-parameters.ts';

export interface DecodeLimits extends InputLimits {
  readonly jsonBytesMax: number;
  readonly outputsMax: number;
}

export interface InferJson {
  readonly id: string;
  readonly parameters: RequestParameters;
  readonly inputs: readonly PendingInput[];
  readonly outputs: readonly string[];
  readonly form: AnswerForm;
  /** For answers to JSON that is remembered. */
  readonly template: TemplateSlot | undefined;
}

/** JSON up to here is remembered, and so many of them. */
export const knownJsonBytesMax = 1024;
const knownJsonsMax = 64;

interface Known {
  readonly bytes: Uint8Array;
  readonly json: InferJson;
}

/**
 * Reads JSON, or knows it from before: with binary tensors a client sends the same JSON over and over, with other
 * bytes behind it, and so do all clients of one program. What is remembered depends on nothing but those bytes.
 */
export class InferJsonReader {
  readonly #limits: DecodeLimits;
  readonly #known: (Known | undefined)[] = new Array(knownJsonsMax).fill(undefined);

  constructor(limits: DecodeLimits) {
    this.#limits = limits;
  }

  /** `body[0, jsonBytes)`. */
  read(body: Uint8Array, jsonBytes: number): InferJson {
    if (jsonBytes > knownJsonBytesMax) return readJson(body.subarray(0, jsonBytes), this.#limits);
    const place = placeOf(body, jsonBytes);
    const known = this.#known[place];
    if (known !== undefined && known.bytes.length === jsonBytes && isPrefix(known.bytes, body)) return known.json;
    const bytes = copyOf(body, 0, jsonBytes);
    const json = readJson(bytes, this.#limits);
    // An id mostly comes once: remembered, it would only take the place of what comes again.
    if (json.id === '' && json.inputs.every(({ tensor }) => tensor === undefined)) {
      this.#known[place] = { bytes, json: { ...json, template: new TemplateSlot() } };
    }
    return json;
  }
}

/** Where such JSON would lie. JSON of other models differs in its length, or in the names that stand in its first half. */
function placeOf(body: Uint8Array, jsonBytes: number): number {
  let hash = jsonBytes;
  for (let at = jsonBytes >> 4; at < jsonBytes; at += 1 + (jsonBytes >> 3))
    hash = (hash * 31 + (body[at] as number)) | 0;
  return hash & (knownJsonsMax - 1);
}

function isPrefix(known: Uint8Array, body: Uint8Array): boolean {
  for (let at = 0; at < known.length; at++) if (known[at] !== body[at]) return false;
  return true;
}

function readJson(bytes: Uint8Array, limits: DecodeLimits): InferJson {
  const reader = new JsonReader(bytes);
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
  const unlisted = parameters.isBinaryByDefault ? binaryForm : jsonForm;
  return {
    id,
    parameters,
    inputs,
    outputs: [...outputs.keys()],
    form: { listed: outputs, unlisted },
    template: undefined,
  };
}
