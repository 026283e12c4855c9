/** One inference over REST, from the body of the request to the pieces of the answer. */
import type { HttpRequest, HttpResponse } from '@millrace/http';
import { JsonWriter } from '@millrace/protocol';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { Catalogue } from '../../registry/catalogue.ts';
import { callerFrom } from '../caller.ts';
import type { AnswerForm } from '../classification/answer-form.ts';
import { checkClassification, isClassifying } from '../classification/classify.ts';
import { chooseCoding } from './accept-encoding.ts';
import { BodyBudget, type BodyLease } from './body-budget.ts';
import { compress } from './compress.ts';
import type { RestConfig } from './config.ts';
import { type DecodedRequest, decodeRequest, headerLengthField, jsonBytesFromField } from './decode-request.ts';
import { inferenceErrorFrom } from './encode-error.ts';
import { type EncodedAnswer, encodeAnswer } from './encode-response.ts';
import { readBody } from './read-body.ts';
import { timeoutField, timeoutMsFromField } from './request-parameters.ts';

export interface InferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: RestConfig;
  /** The header field that names the caller; empty: none is believed. */
  readonly callerHeader: string;
}

/** A writer keeps the memory of its largest text; after one of this size it is replaced. */
const writerBytesMax = 1024 * 1024;

export class InferOperation {
  readonly #dataPlane: DataPlane;
  readonly #catalogue: Catalogue;
  readonly #config: RestConfig;
  readonly #callerHeader: string;
  readonly #bodies: BodyBudget;
  /** Shared by all requests: what it writes is taken before anything else runs. */
  #writer = new JsonWriter();

  constructor({ dataPlane, catalogue, config, callerHeader }: InferDependencies) {
    this.#dataPlane = dataPlane;
    this.#catalogue = catalogue;
    this.#config = config;
    this.#callerHeader = callerHeader;
    this.#bodies = new BodyBudget(config.bodyBytesInFlightMax);
  }

  /** Rejects with what `encodeError` takes; an answer that was made is then released. */
  async run(http: HttpRequest, model: string, version: string): Promise<HttpResponse> {
    const lease = this.#bodies.lease();
    try {
      return await this.#runLeased(http, model, version, lease);
    } finally {
      lease.end();
    }
  }

  async #runLeased(http: HttpRequest, model: string, version: string, lease: BodyLease): Promise<HttpResponse> {
    const { request, form } = await this.#decode(http, model, version, lease);
    const answer = await this.#dataPlane.infer(request, http.signal);
    const release = releaseOf(answer);
    try {
      return await this.#respond(answer, form, takeJoined(http, 'accept-encoding'), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  async #decode(http: HttpRequest, model: string, version: string, lease: BodyLease): Promise<DecodedRequest> {
    try {
      return await this.#mustDecode(http, model, version, lease);
    } catch (error) {
      this.#dataPlane.noteRefusal(inferenceErrorFrom(error).code);
      throw error;
    }
  }

  async #mustDecode(http: HttpRequest, model: string, version: string, lease: BodyLease): Promise<DecodedRequest> {
    const frame = {
      model,
      version,
      jsonBytes: jsonBytesFromField(http.headers.getAll(headerLengthField)),
      timeoutMs: timeoutMsFromField(takeJoined(http, timeoutField)),
      caller: callerFrom(http.headers, http.peer, this.#callerHeader),
    };
    const body = await readBody(http, takeJoined(http, 'content-encoding'), this.#config, lease);
    const decoded = decodeRequest(frame, body, this.#catalogue, this.#config);
    if (isClassifying(decoded.form)) checkClassification(decoded.form, this.#catalogue.mustFind(model, version));
    return decoded;
  }

  async #respond(
    answer: InferAnswer,
    form: AnswerForm,
    acceptEncoding: string | undefined,
    release: () => void,
  ): Promise<HttpResponse> {
    const view = isClassifying(form) ? this.#catalogue.mustFind(answer.model, answer.version) : undefined;
    const { classificationElementsMax } = this.#config;
    const encoded = encodeAnswer(answer, { form, view, classificationElementsMax }, this.#writer);
    if (encoded.jsonBytes > writerBytesMax) this.#writer = new JsonWriter();
    const headers = answerFields(encoded);
    if (encoded.bytes >= this.#config.compressBytesMin) {
      headers.push(['vary', 'accept-encoding']);
      const coding = chooseCoding(acceptEncoding);
      if (coding !== 'identity') {
        const packed = compress(encoded.pieces, encoded.bytes, coding, this.#config);
        const body = packed instanceof Promise ? await packed : packed;
        release();
        return { status: 200, headers: [...headers, ['content-encoding', coding]], body };
      }
    }
    // Pure JSON holds nothing of the answer's memory.
    if (encoded.pieces.length === 1) release();
    return { status: 200, headers, body: encoded.pieces, release };
  }
}

/** A field that was sent in several lines is one list. */
function takeJoined(http: HttpRequest, name: string): string | undefined {
  const values = http.headers.getAll(name);
  return values.length > 1 ? values.join(', ') : values[0];
}

function answerFields(encoded: EncodedAnswer): [string, string][] {
  if (encoded.pieces.length === 1) return [['content-type', 'application/json']];
  return [
    ['content-type', 'application/octet-stream'],
    [headerLengthField, String(encoded.jsonBytes)],
  ];
}

function releaseOf(answer: InferAnswer): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    answer.release();
  };
}
