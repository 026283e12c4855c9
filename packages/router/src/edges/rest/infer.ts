/** Inferences over REST: what they share, and one of them from the body of its request to the pieces of its answer. */
import {
  BodyTooLarge,
  type HttpRequest,
  type HttpResponse,
  type LentBodyReceiver,
  MemoryRefused,
} from '@millrace/http';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { CallerRule } from '../caller.ts';
import { checkClassification, isClassifying } from '../classification/classify.ts';
import { refusalBefore } from '../model-refusal.ts';
import { encodeError, inferenceErrorFrom } from '../routing/encode-error.ts';
import { type SliceQueue, sliceBytes } from '../slices/slice-queue.ts';
import { chooseCoding } from './accept-encoding.ts';
import { AnswerEncoder } from './answer-encoder.ts';
import type { EncodedAnswer } from './answer-template.ts';
import type { RestConfig } from './config.ts';
import { type DecodedRestRequest, jsonTooLarge, placementOf, RequestDecoder } from './decode-request.ts';
import { type InferFields, inferFieldsFrom } from './infer-fields.ts';
import { BodyReader } from './read-body.ts';

export interface RestInferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: RestConfig;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

/** A body of this size, or of unknown length, is not small. */
const bytesMaxOfSmall = sliceBytes;

export class RestInferOperation {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: RestConfig;
  readonly callers: CallerRule;
  readonly decoder: RequestDecoder;
  readonly deadlineAfter: DataPlane['deadlineAfter'];
  readonly encoder: AnswerEncoder;
  readonly slices: SliceQueue;
  readonly bodies: BodyReader;
  readonly #onError: (error: unknown) => void;

  constructor({ dataPlane, catalogue, config, callers, slices, onError }: RestInferDependencies) {
    this.dataPlane = dataPlane;
    this.catalogue = catalogue;
    this.config = config;
    this.callers = callers;
    this.decoder = new RequestDecoder(catalogue, config);
    this.encoder = new AnswerEncoder(catalogue, config, slices);
    this.slices = slices;
    this.deadlineAfter = (timeoutMs) => dataPlane.deadlineAfter(timeoutMs);
    this.bodies = new BodyReader(config, slices);
    this.#onError = onError;
  }

  /** Errors become answers too. */
  run(http: HttpRequest, model: string, version: string): Promise<HttpResponse> {
    return new Promise((respond) => new InferCall(this, http, model, version, respond).begin());
  }

  encodeError(error: unknown): HttpResponse {
    return encodeError(error, { retryAfterSeconds: this.config.retryAfterSeconds, onError: this.#onError });
  }
}

/** Plain calls instead of promises from step to step: most requests are small, and a promise costs like reading one. */
class InferCall implements LentBodyReceiver {
  readonly #operation: RestInferOperation;
  readonly #http: HttpRequest;
  readonly #model: string;
  readonly #version: string;
  readonly #respond: (response: HttpResponse) => void;
  #fields: InferFields | undefined = undefined;
  #decoded: DecodedRestRequest | undefined = undefined;
  #caller = '';
  /** Releases the memory of the body; undefined: there is no body, or it was released. */
  #releaseBody: (() => void) | undefined = undefined;

  constructor(
    operation: RestInferOperation,
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
      const { config, catalogue, callers, bodies, dataPlane } = this.#operation;
      const { body, headers, peer, signal } = this.#http;
      const fields = inferFieldsFrom(headers);
      this.#fields = fields;
      this.#caller = callers.callerOf(headers, peer);
      // A large body is not read for a model that does not exist or is not ready.
      if ((body.lengthBytes ?? bytesMaxOfSmall) >= bytesMaxOfSmall) catalogue.mustFind(this.#model, this.#version);
      const { packing, jsonBytes } = fields;
      if (jsonBytes !== undefined && jsonBytes > config.jsonBytesMax)
        throw jsonTooLarge(jsonBytes, config.jsonBytesMax);
      // Without a length of its JSON, the whole body is JSON.
      const bytesMax =
        jsonBytes === undefined ? Math.min(config.jsonBytesMax, config.bodyBytesMax) : config.bodyBytesMax;
      if (packing !== undefined) {
        const unpacking = { packing, isJson: jsonBytes === undefined, bytesMax, owner: this.#caller, signal };
        bodies.read(this.#http, bytesMax, unpacking).then(
          (whole) => this.onBody(whole, noRelease),
          (error: unknown) => this.onBodyFailed(error),
        );
        return;
      }
      const place = { model: this.#model, version: this.#version, jsonBytes, bodyBytes: body.lengthBytes };
      body.lendAll(bytesMax, this, placementOf(place, dataPlane));
    } catch (error) {
      this.onBodyFailed(error);
    }
  }

  onBody(body: Uint8Array, release: () => void, tail?: Uint8Array): void {
    this.#releaseBody = release;
    const { decoder, deadlineAfter, slices } = this.#operation;
    const { jsonBytes, wantsJson, timeoutMs } = this.#fields as InferFields;
    try {
      const frame = {
        model: this.#model,
        version: this.#version,
        jsonBytes,
        wantsJson,
        timeoutMs,
        caller: this.#caller,
        deadlineAfter,
      };
      if (!decoder.isLong(frame, body)) {
        this.#onDecoded(decoder.decode(frame, body, tail));
        return;
      }
      const work = decoder.decodeInSlices(frame, body, (bytes) => this.#http.memory.hold(bytes), tail);
      slices.run(work, this.#caller, this.#http.signal).then(
        (decoded) => this.#onDecoded(decoded),
        (error: unknown) => this.onBodyFailed(error),
      );
    } catch (error) {
      this.onBodyFailed(error);
    }
  }

  #onDecoded(decoded: DecodedRestRequest): void {
    const { catalogue, dataPlane } = this.#operation;
    this.#decoded = decoded;
    try {
      if (isClassifying(decoded.form))
        checkClassification(decoded.form, catalogue.mustFind(this.#model, this.#version));
    } catch (error) {
      this.onBodyFailed(error);
      return;
    }
    try {
      dataPlane.infer(decoded.request, this.#http.signal).then(
        (answer) => {
          // The data plane is finished with the inputs, and the outputs are in memory of their own.
          this.#endBody();
          this.#onAnswer(answer);
        },
        (error: unknown) => this.#onRefused(error),
      );
    } catch (error) {
      this.#onRefused(error);
    }
  }

  #endBody(): void {
    this.#releaseBody?.();
    this.#releaseBody = undefined;
  }

  #onRefused(error: unknown): void {
    this.#endBody();
    this.#respond(this.#operation.encodeError(error));
  }

  /** The request could not be read: it was cut off, too large or malformed. */
  onBodyFailed(error: unknown): void {
    this.#endBody();
    const { catalogue, dataPlane, config } = this.#operation;
    const isJson = error instanceof BodyTooLarge && error.bytesMax < config.bodyBytesMax;
    const ofBody = isJson ? jsonTooLarge(this.#http.body.lengthBytes, error.bytesMax) : error;
    const told = refusalBefore(ofBody, catalogue, this.#model, this.#version);
    dataPlane.noteRefusal(inferenceErrorFrom(told).code);
    this.#respond(this.#operation.encodeError(told));
  }

  #onAnswer(answer: InferAnswer): void {
    const decoded = this.#decoded as DecodedRestRequest;
    const { encoder } = this.#operation;
    if (encoder.isLong(answer, decoded.form)) {
      encoder.encodeInSlices(answer, decoded.form, this.#caller, this.#http).then(
        (encoded) => this.#onEncoded(answer, encoded),
        (error: unknown) => this.#fail(answer, error),
      );
      return;
    }
    try {
      this.#onEncoded(answer, encoder.encode(answer, decoded));
    } catch (error) {
      this.#fail(answer, error);
    }
  }

  #onEncoded(answer: InferAnswer, encoded: EncodedAnswer): void {
    if (!this.#http.memory.hasRoomToAnswer(encoded.bytes)) {
      this.#fail(answer, new MemoryRefused());
      return;
    }
    if (encoded.bytes >= this.#operation.config.compressBytesMin) {
      this.#respondPacked(answer, encoded).catch((error: unknown) => this.#fail(answer, error));
    } else this.#respondPlain(answer, encoded, encoded.headers);
  }

  #respondPlain(answer: InferAnswer, encoded: EncodedAnswer, headers: HttpResponse['headers']): void {
    const { pieces, hasBinary } = encoded;
    if (hasBinary) this.#respond({ status: 200, headers, body: pieces, release: () => answer.release() });
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
    const body = await this.#operation.encoder.pack(encoded, coding, this.#caller, this.#http.signal);
    answer.release();
    this.#respond({ status: 200, headers: [...headers, ['content-encoding', coding]], body });
  }

  #fail(answer: InferAnswer, error: unknown): void {
    answer.release();
    this.#respond(this.#operation.encodeError(error));
  }
}

function noRelease(): void {}
