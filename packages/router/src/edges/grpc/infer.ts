/** One inference over gRPC, from the message of the request to the message of the answer. */
import type { UnaryCall } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { Catalogue } from '../../registry/catalogue.ts';
import { callerFrom } from '../caller.ts';
import { checkClassification, classify } from '../classification/classify.ts';
import type { GrpcConfig } from './config.ts';
import { type DecodedRequest, decodeRequest } from './decode-request.ts';
import type { InferResponse } from './encode-response.ts';
import type { InferMessage } from './infer-message.ts';

export interface InferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: GrpcConfig;
  /** The metadata field that names the caller; empty: none is believed. */
  readonly callerHeader: string;
}

export class InferOperation {
  readonly #dataPlane: DataPlane;
  readonly #catalogue: Catalogue;
  readonly #config: GrpcConfig;
  readonly #callerHeader: string;

  constructor({ dataPlane, catalogue, config, callerHeader }: InferDependencies) {
    this.#dataPlane = dataPlane;
    this.#catalogue = catalogue;
    this.#config = config;
    this.#callerHeader = callerHeader;
  }

  /** Answers or fails the call when the data plane has; throws what is wrong with the request itself. */
  run(message: InferMessage, call: UnaryCall<InferResponse>): void {
    const { request, classes } = this.#decode(message, call);
    this.#dataPlane.infer(request, call.signal).then(
      (answer) => {
        if (classes.size === 0) call.answer(answer, () => answer.release());
        else this.#answerClasses(answer, classes, call);
      },
      (error: unknown) => call.fail(error),
    );
  }

  #decode(message: InferMessage, call: UnaryCall<InferResponse>): DecodedRequest {
    try {
      const decoded = decodeRequest(message, call.timeoutMs, this.#callerOf(call));
      const { request, classes } = decoded;
      if (classes.size > 0) this.#checkClasses(request.model, request.version, classes);
      return decoded;
    } catch (error) {
      this.#dataPlane.noteRefusal(error instanceof InferenceError ? error.code : 'internal');
      throw error;
    }
  }

  #callerOf(call: UnaryCall<InferResponse>): string {
    // Asking a call for its metadata makes an object, which nearly every request can do without.
    if (this.#callerHeader === '') return call.peer.address;
    return callerFrom(call.metadata, call.peer, this.#callerHeader);
  }

  #checkClasses(model: string, version: string, classes: ReadonlyMap<string, number>): void {
    const listed = new Map([...classes].map(([name, count]) => [name, { isBinary: true, classes: count }]));
    const view = this.#catalogue.mustFind(model, version);
    checkClassification({ listed, unlisted: { isBinary: true, classes: 0 } }, view);
  }

  #answerClasses(answer: InferAnswer, classes: ReadonlyMap<string, number>, call: UnaryCall<InferResponse>): void {
    const { model, version, id } = answer;
    try {
      const view = this.#catalogue.mustFind(model, version);
      const outputs = answer.outputs.map((output) => {
        const count = classes.get(output.name);
        return count === undefined ? output : classify(output, count, view, this.#config.classificationElementsMax);
      });
      call.answer({ model, version, id, outputs }, () => answer.release());
    } catch (error) {
      answer.release();
      call.fail(error);
    }
  }
}
