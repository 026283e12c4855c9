/** One inference over REST, from the body of the request to the pieces of the answer. */
import type { HttpRequest, HttpResponse } from '@millrace/http';
import { JsonWriter } from '@millrace/protocol';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { Catalogue } from '../../registry/catalogue.ts';
import { chooseCoding } from './accept-encoding.ts';
import type { AnswerForm } from './answer-form.ts';
import { checkClassification, isClassifying } from './classify.ts';
import { compress } from './compress.ts';
import type { RestConfig } from './config.ts';
import { decodeRequest, headerLengthField, jsonBytesFromField } from './decode-request.ts';
import { decompress, requestPackingFrom } from './decompress.ts';
import { type EncodedAnswer, encodeAnswer } from './encode-response.ts';
import { timeoutField, timeoutMsFromField } from './request-parameters.ts';

export interface InferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: RestConfig;
}

export class InferOperation {
  readonly #dataPlane: DataPlane;
  readonly #catalogue: Catalogue;
  readonly #config: RestConfig;
  /** Shared by all requests: what it writes is taken before anything else runs. */
  readonly #writer = new JsonWriter();

  constructor({ dataPlane, catalogue, config }: InferDependencies) {
    this.#dataPlane = dataPlane;
    this.#catalogue = catalogue;
    this.#config = config;
  }

  /** Rejects with what `encodeError` takes; an answer that was made is then released. */
  async run(http: HttpRequest, model: string, version: string): Promise<HttpResponse> {
    const frame = {
      model,
      version,
      jsonBytes: jsonBytesFromField(http.headers.getAll(headerLengthField)),
      timeoutMs: timeoutMsFromField(http.headers.get(timeoutField)),
    };
    const body = await this.#readBody(http);
    const { request, form } = decodeRequest(frame, body, this.#catalogue, this.#config);
    if (isClassifying(form)) checkClassification(form, this.#catalogue.mustFind(model, version));
    const answer = await this.#dataPlane.infer(request, http.signal);
    const release = releaseOf(answer);
    try {
      return await this.#respond(answer, form, http.headers.get('accept-encoding'), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  async #readBody(http: HttpRequest): Promise<Uint8Array> {
    const packing = requestPackingFrom(http.headers.get('content-encoding'));
    const body = await http.body.readAll(this.#config.bodyBytesMax);
    return packing === undefined ? body : decompress(body, packing, this.#config);
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
