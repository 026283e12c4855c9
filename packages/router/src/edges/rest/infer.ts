/** Inferences over REST: what they share, and one of them from the body of its request to the pieces of its answer. */
import { type BodyReceiver, type HttpRequest, type HttpResponse, MemoryRefused } from '@millrace/http';
import { JsonWriter } from '@millrace/protocol';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { Catalogue } from '../../registry/catalogue.ts';
import type { CallerRule } from '../caller.ts';
import { checkClassification, isClassifying } from '../classification/classify.ts';
import { chooseCoding } from './accept-encoding.ts';
import type { EncodedAnswer } from './answer-template.ts';
import { compress } from './compress.ts';
import type { RestConfig } from './config.ts';
import { type DecodedRequest, RequestDecoder } from './decode-request.ts';
import { encodeError, inferenceErrorFrom } from './encode-error.ts';
import { encodeAnswer } from './encode-response.ts';
import { type InferFields, inferFieldsFrom } from './infer-fields.ts';
import { readPacked } from './read-body.ts';

export interface InferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: RestConfig;
  readonly callers: CallerRule;
  /** Hears of defects; clients are told only that there was one. */
  readonly onError: (error: unknown) => void;
}

/** Answers up to here are sent whatever their caller holds: they need no more than the request did. */
const freeAnswerBytes = 64 * 1024;

/** A writer keeps the memory of its largest text; after one of this size it is replaced. */
const writerBytesMax = 1024 * 1024;

export class InferOperation {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: RestConfig;
  readonly callers: CallerRule;
  readonly decoder: RequestDecoder;
  readonly #onError: (error: unknown) => void;
  /** Shared by all requests: what it writes is taken before anything else runs. */
  #writer = new JsonWriter();

  constructor({ dataPlane, catalogue, config, callers, onError }: InferDependencies) {
    this.dataPlane = dataPlane;
    this.catalogue = catalogue;
    this.config = config;
    this.callers = callers;
    this.decoder = new RequestDecoder(catalogue, config);
    this.#onError = onError;
  }

  /** What goes wrong is an answer too. */
  run(http: HttpRequest, model: string, version: string): Promise<HttpResponse> {
    return new Promise((respond) => new InferCall(this, http, model, version, respond).begin());
  }

  encode(answer: InferAnswer, { form, template }: DecodedRequest): EncodedAnswer {
    const known = template?.take(answer);
    if (known !== undefined) return known;
    const view = isClassifying(form) ? this.catalogue.mustFind(answer.model, answer.version) : undefined;
    const { classificationElementsMax } = this.config;
    const encoded = encodeAnswer(answer, { form, view, classificationElementsMax }, this.#writer);
    if (encoded.jsonBytes > writerBytesMax) this.#writer = new JsonWriter();
    template?.keep(answer, form, encoded);
    return encoded;
  }

  encodeError(error: unknown): HttpResponse {
    return encodeError(error, { retryAfterSeconds: this.config.retryAfterSeconds, onError: this.#onError });
  }
}

/** Plain calls instead of promises from step to step: most requests are small, and a promise costs like reading one. */
class InferCall implements BodyReceiver {
  readonly #operation: InferOperation;
  readonly #http: HttpRequest;
  readonly #model: string;
  readonly #version: string;
  readonly #respond: (response: HttpResponse) => void;
  #fields: InferFields | undefined = undefined;
  #decoded: DecodedRequest | undefined = undefined;

  constructor(
    operation: InferOperation,
    http: HttpRequest,
    model: string,
    version: string,
    respond: (response: HttpResponse) => void,
  ) {
    this.#operation = operation;
    this.#http = http;
    this.#model = model;
    this.#version = version;
    this.#respond = respond;
  }

  begin(): void {
    try {
      const { config } = this.#operation;
      const { body } = this.#http;
      const fields = inferFieldsFrom(this.#http.headers);
      this.#fields = fields;
      if (fields.packing !== undefined) {
        readPacked(this.#http, fields.packing, config).then(
          (whole) => this.onBody(whole),
          (error: unknown) => this.onBodyFailed(error),
        );
        return;
      }
      body.giveAll(config.bodyBytesMax, this);
    } catch (error) {
      this.onBodyFailed(error);
    }
  }

  onBody(body: Uint8Array): void {
    const { decoder, catalogue, callers, dataPlane } = this.#operation;
    const { jsonBytes, timeoutMs } = this.#fields as InferFields;
    const http = this.#http;
    const model = this.#model;
    const version = this.#version;
    try {
      const caller = callers.callerOf(http.headers, http.peer);
      const decoded = decoder.decode({ model, version, jsonBytes, timeoutMs, caller }, body);
      if (isClassifying(decoded.form)) checkClassification(decoded.form, catalogue.mustFind(model, version));
      this.#decoded = decoded;
    } catch (error) {
      this.onBodyFailed(error);
      return;
    }
    try {
      dataPlane.infer(this.#decoded.request, http.signal).then(
        (answer) => this.#onAnswer(answer),
        (error: unknown) => this.#onRefused(error),
      );
    } catch (error) {
      this.#onRefused(error);
    }
  }

  #onRefused(error: unknown): void {
    this.#respond(this.#operation.encodeError(error));
  }

  /** There is no request to speak of: it was cut off, too large or senseless. */
  onBodyFailed(error: unknown): void {
    const { dataPlane } = this.#operation;
    dataPlane.noteRefusal(inferenceErrorFrom(error).code);
    this.#respond(this.#operation.encodeError(error));
  }

  #onAnswer(answer: InferAnswer): void {
    const { config } = this.#operation;
    try {
      const encoded = this.#operation.encode(answer, this.#decoded as DecodedRequest);
      if (encoded.bytes > freeAnswerBytes && !this.#http.memory.hasRoomFor(encoded.bytes)) throw new MemoryRefused();
      if (encoded.bytes >= config.compressBytesMin) {
        this.#respondPacked(answer, encoded).catch((error: unknown) => this.#fail(answer, error));
        return;
      }
      this.#respondPlain(answer, encoded, encoded.headers);
    } catch (error) {
      this.#fail(answer, error);
    }
  }

  #respondPlain(answer: InferAnswer, { pieces }: EncodedAnswer, headers: HttpResponse['headers']): void {
    // Pure JSON holds nothing of the answer's memory.
    if (pieces.length > 1) this.#respond({ status: 200, headers, body: pieces, release: () => answer.release() });
    else {
      answer.release();
      this.#respond({ status: 200, headers, body: pieces });
    }
  }

  async #respondPacked(answer: InferAnswer, encoded: EncodedAnswer): Promise<void> {
    const { acceptEncoding } = this.#fields as InferFields;
    const headers: HttpResponse['headers'] = [...encoded.headers, ['vary', 'accept-encoding']];
    const coding = chooseCoding(acceptEncoding);
    if (coding === 'identity') {
      this.#respondPlain(answer, encoded, headers);
      return;
    }
    const body = await compress(encoded.pieces, encoded.bytes, coding, this.#operation.config);
    answer.release();
    this.#respond({ status: 200, headers: [...headers, ['content-encoding', coding]], body });
  }

  #fail(answer: InferAnswer, error: unknown): void {
    answer.release();
    this.#respond(this.#operation.encodeError(error));
  }
}
