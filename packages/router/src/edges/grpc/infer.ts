/** One inference over gRPC, from the message of the request to the message of the answer. */
import type { RequestMetadata, RpcCall, UnaryCall } from '@millrace/http';
import { type CancelSignal, InferenceError } from '@millrace/protocol';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { Catalogue } from '../../registry/catalogue.ts';
import type { CallerRule } from '../caller.ts';
import { checkClassification, classify } from '../classification/classify.ts';
import type { GrpcConfig } from './config.ts';
import { type DecodedRequest, decodeRequest } from './decode-request.ts';
import type { InferResponse } from './encode-response.ts';
import type { InferMessage } from './infer-message.ts';

export interface InferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: GrpcConfig;
  readonly callers: CallerRule;
}

/** What is looked at of a call before its messages. */
export type CallHead = Pick<RpcCall, 'peer'> & { readonly metadata: Pick<RequestMetadata, 'get' | 'getAll'> };

export interface ReleasableResponse {
  readonly response: InferResponse;
  /** To be called once, when the response has been written or nobody wants it. */
  readonly release: () => void;
}

export class InferOperation {
  readonly #dataPlane: DataPlane;
  readonly #catalogue: Catalogue;
  readonly #config: GrpcConfig;
  readonly #callers: CallerRule;

  constructor({ dataPlane, catalogue, config, callers }: InferDependencies) {
    this.#dataPlane = dataPlane;
    this.#catalogue = catalogue;
    this.#config = config;
    this.#callers = callers;
  }

  /** Answers or fails the call when the data plane has; throws what is wrong with the request itself. */
  run(message: InferMessage, call: UnaryCall<InferResponse>): void {
    const { request, classes } = this.#decode(message, call.timeoutMs, this.callerOf(call));
    this.#dataPlane.infer(request, call.signal).then(
      (answer) => {
        if (classes.size === 0) call.answer(answer, () => answer.release());
        else this.#answerClasses(answer, classes, call);
      },
      (error: unknown) => call.fail(error),
    );
  }

  /**
   * For one request of a stream: rejects also with what is wrong with the request itself. `onSlotWait` is called when it
   * belongs to a sequence that has to wait for the end of another.
   */
  async answer(
    message: InferMessage,
    caller: string,
    signal: CancelSignal,
    onSlotWait: (() => void) | undefined,
  ): Promise<ReleasableResponse> {
    const { request, classes } = this.#decode(message, undefined, caller);
    const { sequence } = request;
    const isHeard = sequence !== undefined && onSlotWait !== undefined;
    const heard = isHeard ? { ...request, sequence: { ...sequence, onSlotWait } } : request;
    const answer = await this.#dataPlane.infer(heard, signal);
    const release = (): void => answer.release();
    if (classes.size === 0) return { response: answer, release };
    try {
      return { response: this.#classified(answer, classes), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #decode(message: InferMessage, timeoutMs: number | undefined, caller: string): DecodedRequest {
    try {
      const decoded = decodeRequest(message, timeoutMs, caller);
      const { request, classes } = decoded;
      if (classes.size > 0) this.#checkClasses(request.model, request.version, classes);
      return decoded;
    } catch (error) {
      this.#dataPlane.noteRefusal(error instanceof InferenceError ? error.code : 'internal');
      throw error;
    }
  }

  /** Whose requests they are that come by this call. */
  callerOf(call: CallHead): string {
    // Asking a call for its metadata makes an object, which nearly every request can do without.
    const { peer } = call;
    return this.#callers.readsHeaders(peer) ? this.#callers.callerOf(call.metadata, peer) : peer.owner;
  }

  #checkClasses(model: string, version: string, classes: ReadonlyMap<string, number>): void {
    const listed = new Map([...classes].map(([name, count]) => [name, { isBinary: true, classes: count }]));
    const view = this.#catalogue.mustFind(model, version);
    checkClassification({ listed, unlisted: { isBinary: true, classes: 0 } }, view);
  }

  #answerClasses(answer: InferAnswer, classes: ReadonlyMap<string, number>, call: UnaryCall<InferResponse>): void {
    try {
      call.answer(this.#classified(answer, classes), () => answer.release());
    } catch (error) {
      answer.release();
      call.fail(error);
    }
  }

  #classified({ model, version, id, outputs }: InferAnswer, classes: ReadonlyMap<string, number>): InferResponse {
    const view = this.#catalogue.mustFind(model, version);
    const named = outputs.map((output) => {
      const count = classes.get(output.name);
      return count === undefined ? output : classify(output, count, view, this.#config.classificationElementsMax);
    });
    return { model, version, id, outputs: named };
  }
}
