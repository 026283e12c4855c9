/** Reads the JSON of an inference request; binary tensors follow it. */
import {
  beginTensorData,
  continueTensorData,
  copyOf,
  InferenceError,
  type JsonLimits,
  JsonReader,
  type JsonSpan,
  LongValues,
  type Tensor,
  takeByteSize,
} from '@millrace/protocol';
import type { InputHead } from '../../data-plane/input-head.ts';
import { type AnswerForm, binaryForm, jsonForm, type OutputForm } from '../classification/answer-form.ts';
import { nextSliceBytes, type SliceGenerator } from '../slices/slice-queue.ts';
import { AnswerTemplateCache } from './answer-template.ts';
import { type InputLimits, type PendingInput, readInputs } from './decode-inputs.ts';
import { type OutputLimits, readOutputs } from './decode-outputs.ts';
import { readParameters } from './parameters.ts';
import { RepeatedShapes } from './repeated-shape.ts';
import {
  noRestRequestParameters,
  type RestRequestParameters,
  restRequestParametersFrom,
} from './request-parameters.ts';

export interface DecodeLimits extends InputLimits, OutputLimits {
  readonly jsonBytesMax: number;
  /** The JSON without the data of tensors. */
  readonly jsonHeadBytesMax: number;
  /** Keys of one JSON object, among them the parameters of a request, an input or an output. */
  readonly keysMax: number;
}

export interface InferJson {
  readonly id: string;
  readonly parameters: RestRequestParameters;
  readonly inputs: readonly PendingInput[];
  readonly outputs: readonly string[];
  readonly form: AnswerForm;
  /** For answers to cached JSON. */
  readonly template: AnswerTemplateCache | undefined;
}

/** Size of JSON that is cached, and number of cached requests. */
export const knownJsonBytesMax = 1024;
const knownJsonsMax = 64;

interface Known {
  readonly bytes: Uint8Array;
  readonly json: InferJson;
}

/**
 * Reads JSON, or takes it from a cache: with binary tensors a client repeats the same JSON with other
 * bytes after it, and so do all clients of one program. A cached result depends only on those bytes.
 */
export class InferJsonReader {
  readonly #limits: DecodeLimits;
  readonly #jsonLimits: JsonLimits;
  readonly #shapes = new RepeatedShapes();
  readonly #known: (Known | undefined)[] = new Array(knownJsonsMax).fill(undefined);

  constructor(limits: DecodeLimits) {
    this.#limits = limits;
    const { keysMax, nameBytesMax: keyBytesMax, jsonHeadBytesMax: headBytesMax } = limits;
    this.#jsonLimits = { keysMax, keyBytesMax, headBytesMax };
  }

  /** `body[0, jsonBytes)`. */
  read(body: Uint8Array, jsonBytes: number): InferJson {
    if (jsonBytes > knownJsonBytesMax) return this.#readRepeated(body, jsonBytes);
    const position = cachePositionOf(body, jsonBytes);
    const known = this.#known[position];
    if (known !== undefined && known.bytes.length === jsonBytes && isPrefix(known.bytes, body)) return known.json;
    const json = this.#readRepeated(body, jsonBytes);
    // An id mostly comes once: cached, it would only replace JSON that is repeated.
    if (json.id === '' && json.inputs.every(({ tensor }) => tensor === undefined)) {
      const bytes = copyOf(body, 0, jsonBytes);
      this.#known[position] = { bytes, json: { ...json, template: new AnswerTemplateCache() } };
    }
    return json;
  }

  #readRepeated(body: Uint8Array, jsonBytes: number): InferJson {
    // Longer JSON is refused, which the full reader has to say.
    const repeated = jsonBytes > this.#limits.jsonHeadBytesMax ? undefined : this.#shapes.take(body, jsonBytes);
    if (repeated !== undefined) return repeated;
    const json = this.#read(body.subarray(0, jsonBytes), undefined);
    this.#shapes.keep(body, jsonBytes, json);
    return json;
  }

  /**
   * The same for JSON of any length, in slices. Everything but the data of tensors is read first and given to `check`,
   * which throws for an invalid request; `grow` is called with the memory that the tensors take.
   */
  *readInSlices(
    bytes: Uint8Array,
    check: (json: InferJson) => void,
    grow: (bytes: number) => void,
  ): SliceGenerator<InferJson> {
    const longValues = new LongValues(bytes);
    let step = nextSliceBytes(0);
    // A cache lookup takes less time than reading.
    for (; !longValues.step(2 * step); step = nextSliceBytes(step)) yield;
    yield;
    const json = this.#read(bytes, longValues);
    check(json);
    const inputs: PendingInput[] = [];
    for (const input of json.inputs) {
      if (input.tensor !== undefined || input.span === undefined) inputs.push(input);
      else inputs.push({ tensor: yield* readTensorInSlices(bytes, input.head, input.span, grow), dataAt: undefined });
    }
    return { ...json, inputs };
  }

  #read(bytes: Uint8Array, longValues: LongValues | undefined): InferJson {
    return readJson(new JsonReader(bytes, undefined, this.#jsonLimits, longValues), this.#limits);
  }
}

function* readTensorInSlices(
  bytes: Uint8Array,
  head: InputHead,
  span: JsonSpan,
  grow: (bytes: number) => void,
): SliceGenerator<Tensor> {
  const reader = new JsonReader(bytes, span);
  // Text is never longer as a tensor than as JSON except for its prefixes, which replace quotes and commas.
  grow(takeByteSize(head.datatype, head.shape) ?? 2 * (span.end - span.start));
  const target = beginTensorData(reader, head);
  let step = nextSliceBytes(0);
  for (; !continueTensorData(target, reader.position + step); step = nextSliceBytes(step)) yield;
  reader.expectEnd();
  return { ...head, data: target.take() };
}

/** The position of such JSON in the cache. JSON of other models differs in its length, or in the names in its first half. */
function cachePositionOf(body: Uint8Array, jsonBytes: number): number {
  let hash = jsonBytes;
  for (let at = jsonBytes >> 4; at < jsonBytes; at += 1 + (jsonBytes >> 3))
    hash = (hash * 31 + (body[at] as number)) | 0;
  return hash & (knownJsonsMax - 1);
}

function isPrefix(known: Uint8Array, body: Uint8Array): boolean {
  for (let at = 0; at < known.length; at++) if (known[at] !== body[at]) return false;
  return true;
}

function readJson(reader: JsonReader, limits: DecodeLimits): InferJson {
  let id = '';
  let parameters = noRestRequestParameters;
  let inputs: readonly PendingInput[] | undefined;
  let outputs: ReadonlyMap<string, OutputForm> = new Map();
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'id') id = reader.readString(limits.nameBytesMax, 'the id of the request');
    else if (key === 'parameters') parameters = restRequestParametersFrom(readParameters(reader, ''));
    else if (key === 'inputs') inputs = readInputs(reader, limits);
    else if (key === 'outputs') outputs = readOutputs(reader, limits);
    else reader.skipValue();
  }
  expectEnd(reader);
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

/** What follows the JSON is usually the data of binary tensors, sent without the field that says where they begin. */
function expectEnd(reader: JsonReader): void {
  const jsonBytes = reader.position;
  try {
    reader.expectEnd();
  } catch (error) {
    const { message } = error as InferenceError;
    const hint = `for binary tensor data set the header field Inference-Header-Content-Length to ${jsonBytes}`;
    throw new InferenceError('invalid-request', `${message}; ${hint}`, { cause: error });
  }
}
