/** An inference request as the Open Inference Protocol and its binary tensor extension write it. */
import type { BodyPlacement } from '@millrace/http';
import { InferenceError, quote } from '@millrace/protocol';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { arrivingBytesMin } from '../../data-plane/arriving-inputs.ts';
import { type DataPlane, type InferRequest, noTrail } from '../../data-plane/infer.ts';
import { checkInputs } from '../check-inputs.ts';
import { type AnswerForm, binaryForm, jsonForm } from '../classification/answer-form.ts';
import { tighterMs } from '../request-deadline.ts';
import { type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import type { AnswerTemplateCache } from './answer-template.ts';
import { BinaryTail } from './binary-tail.ts';
import { resolveInputs } from './decode-inputs.ts';
import { type DecodeLimits, type InferJson, InferJsonReader } from './infer-json.ts';
import { rawBinaryInput } from './raw-binary.ts';
import { noRestRequestParameters } from './request-parameters.ts';

export const headerLengthField = 'inference-header-content-length';

/** The description of a request, apart from its body. */
export interface RequestFrame {
  readonly model: string;
  /** Empty: the one the model prefers. */
  readonly version: string;
  /** Bytes of JSON in front of the body; undefined: all of it, 0: none. */
  readonly jsonBytes: number | undefined;
  /** Outputs of a raw binary request are JSON; otherwise its JSON says what they are. */
  readonly wantsJson: boolean;
  readonly timeoutMs: number | undefined;
  readonly caller: string;
  readonly deadlineAfter: DataPlane['deadlineAfter'];
}

export interface DecodedRestRequest {
  readonly request: InferRequest;
  readonly form: AnswerForm;
  /** The cache of answer templates, if the request is cached. */
  readonly template: AnswerTemplateCache | undefined;
}

export class RequestDecoder {
  readonly #catalogue: Catalogue;
  readonly #limits: DecodeLimits;
  readonly #jsons: InferJsonReader;

  constructor(catalogue: Catalogue, limits: DecodeLimits) {
    this.#catalogue = catalogue;
    this.#limits = limits;
    this.#jsons = new InferJsonReader(limits);
  }

  /** Whether the request has too much JSON to be read at once. */
  isLong({ jsonBytes }: RequestFrame, body: Uint8Array): boolean {
    return (jsonBytes ?? body.byteLength) > sliceBytes;
  }

  /** With a tail, the body is only the JSON. */
  decode(frame: RequestFrame, body: Uint8Array, tail?: Uint8Array): DecodedRestRequest {
    if (frame.jsonBytes === 0) return decodeRawBinary(frame, tail ?? body, this.#catalogue);
    const jsonBytes = this.#mustKnowJsonBytes(frame, body);
    return decodedFrom(frame, binaryTailOf(frame, body, jsonBytes, tail), this.#jsons.read(body, jsonBytes));
  }

  /** The same in slices. The declared inputs are checked against the model before their data is read. */
  *decodeInSlices(
    frame: RequestFrame,
    body: Uint8Array,
    grow: (bytes: number) => void,
    tail?: Uint8Array,
  ): SliceGenerator<DecodedRestRequest> {
    const jsonBytes = this.#mustKnowJsonBytes(frame, body);
    const { model, version } = frame;
    const check = ({ id, inputs }: InferJson): void => {
      const heads = inputs.map((input) => input.tensor ?? input.head);
      checkInputs({ model, version, id }, heads, this.#catalogue);
    };
    const json = yield* this.#jsons.readInSlices(body.subarray(0, jsonBytes), check, grow);
    return decodedFrom(frame, binaryTailOf(frame, body, jsonBytes, tail), json);
  }

  #mustKnowJsonBytes(frame: RequestFrame, body: Uint8Array): number {
    const jsonBytes = frame.jsonBytes ?? body.byteLength;
    if (jsonBytes > body.byteLength) {
      throw new InferenceError(
        'invalid-request',
        `Inference-Header-Content-Length is ${jsonBytes}, but the body has only ${body.byteLength} bytes`,
      );
    }
    const { jsonBytesMax } = this.#limits;
    if (jsonBytes > jsonBytesMax) throw jsonTooLarge(jsonBytes, jsonBytesMax);
    return jsonBytes;
  }
}

/** `jsonBytes` where it is known. */
export function jsonTooLarge(jsonBytes: number | undefined, jsonBytesMax: number): InferenceError {
  const size = jsonBytes === undefined ? 'more bytes' : `${jsonBytes} bytes, more`;
  return new InferenceError(
    'request-too-large',
    `the JSON of the request has ${size} than the ${jsonBytesMax} allowed; send tensors as binary data, or raise http.jsonBytesMax`,
  );
}

/** A large binary request before its body: what is known of it by its head. */
interface BodyOutline extends Pick<RequestFrame, 'model' | 'version' | 'jsonBytes'> {
  readonly bodyBytes: number | undefined;
}

/** Where the tensors behind the JSON of a large request are received: in memory that a worker of its model reads. */
export function placementOf(
  { model, version, jsonBytes, bodyBytes = 0 }: BodyOutline,
  dataPlane: DataPlane,
): BodyPlacement | undefined {
  if (jsonBytes === undefined || bodyBytes - jsonBytes < arrivingBytesMin) return undefined;
  const memory = dataPlane.inputMemory?.(model, version);
  return memory && { headBytes: jsonBytes, lend: (bytes) => memory.lend(bytes) };
}

function binaryTailOf(frame: RequestFrame, body: Uint8Array, jsonBytes: number, tail?: Uint8Array): BinaryTail {
  const isDeclared = frame.jsonBytes !== undefined;
  if (tail === undefined) return new BinaryTail(body, jsonBytes, frame.model, isDeclared);
  return new BinaryTail(tail, 0, frame.model, isDeclared);
}

function decodedFrom(frame: RequestFrame, tail: BinaryTail, json: InferJson): DecodedRestRequest {
  const { id, parameters, inputs, outputs, form, template } = json;
  return {
    request: {
      target: {
        model: frame.model,
        version: frame.version,
        id,
        parameters: parameters.forModel,
        outputs,
        sequence: parameters.sequence,
      },
      inputs: resolveInputs(inputs, tail),
      origin: {
        caller: frame.caller,
        deadlineAt: frame.deadlineAfter(tighterMs(frame.timeoutMs, parameters.timeoutMs)),
        queueTimeoutMs: parameters.queueTimeoutMs,
        priority: parameters.priority,
        trail: noTrail,
      },
    },
    form,
    template,
  };
}

/** The value of `Inference-Header-Content-Length`, which is at most 2^31 - 1 in the protocol. */
export function jsonBytesFromField(values: readonly string[]): number | undefined {
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length > 1 || !/^[0-9]{1,10}$/.test(value) || Number(value) > 2 ** 31 - 1) {
    throw new InferenceError(
      'invalid-request',
      `Inference-Header-Content-Length must be one number from 0 to 2147483647, not ${quote(values.join(', '))}`,
    );
  }
  return Number(value);
}

function decodeRawBinary(frame: RequestFrame, body: Uint8Array, catalogue: Catalogue): DecodedRestRequest {
  const { model, version, timeoutMs, caller } = frame;
  const input = rawBinaryInput(catalogue.mustFind(model, version), body);
  const { forModel: parameters, queueTimeoutMs, priority } = noRestRequestParameters;
  return {
    request: {
      target: { model, version, id: '', parameters, outputs: [], sequence: undefined },
      inputs: [input],
      origin: { caller, deadlineAt: frame.deadlineAfter(timeoutMs), queueTimeoutMs, priority, trail: noTrail },
    },
    form: { listed: new Map(), unlisted: frame.wantsJson ? jsonForm : binaryForm },
    template: undefined,
  };
}
