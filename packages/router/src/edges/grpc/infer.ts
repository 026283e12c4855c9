/** One inference over gRPC, from the message of the request to the message of the answer. */
import type { UnaryCall } from '@millrace/http';
import { type CancelSignal, InferenceError, quotedCharactersMax, shortened, type Tensor } from '@millrace/protocol';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import type { InferStream, StreamInput, StreamOptions } from '../../data-plane/streams/infer-stream.ts';
import type { CallerRule } from '../caller.ts';
import { checkClassification, classifiedAtOnceBytesMax, classify } from '../classification/classify.ts';
import { doAtOnce, type SliceGenerator, type SliceQueue } from '../slices/slice-queue.ts';
import type { CallFacts } from './call-turns.ts';
import type { GrpcConfig } from './config.ts';
import {
  type DecodedGrpcRequest,
  decodeKnownRequest,
  hasLongContents,
  inputsFrom,
  readContents,
} from './decode-request.ts';
import type { InferResponse } from './encode-response.ts';
import type { InferMessage } from './infer-message.ts';
import { JsonRequest } from './json-request.ts';
import { encodeJson, isLongAsJson, type JsonResponse } from './json-response.ts';

export interface GrpcInferDependencies {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly config: GrpcConfig;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
}

export type UnaryInferCall = UnaryCall<InferResponse | JsonResponse>;

/** A request of a stream. */
export interface StreamedRequest extends Pick<DecodedGrpcRequest, 'request' | 'wantsEnd'> {
  /** The remaining work on its answers; undefined: none. */
  readonly finish: StreamInput['finish'];
}

export class GrpcInferOperation {
  readonly #dataPlane: DataPlane;
  readonly #catalogue: Catalogue;
  readonly #config: GrpcConfig;
  readonly #callers: CallerRule;
  readonly #slices: SliceQueue;
  readonly #deadlineAfter: DataPlane['deadlineAfter'];

  constructor({ dataPlane, catalogue, config, callers, slices }: GrpcInferDependencies) {
    this.#dataPlane = dataPlane;
    this.#catalogue = catalogue;
    this.#config = config;
    this.#callers = callers;
    this.#slices = slices;
    this.#deadlineAfter = (timeoutMs) => dataPlane.deadlineAfter(timeoutMs);
  }

  /** Where the raw tensors of a request for the model may be received. */
  inputMemory(model: string, version: string): ReturnType<NonNullable<DataPlane['inputMemory']>> {
    return this.#dataPlane.inputMemory?.(model, version);
  }

  /** Answers or fails the call when the data plane has; throws for an invalid request. */
  run(request: InferMessage | JsonRequest, call: UnaryInferCall): void {
    if (request instanceof JsonRequest) {
      this.#runJson(request, call);
      return;
    }
    if (hasLongContents(request)) {
      this.#runLong(this.#readContents(request), call, (message) => this.#ask(message, call, false));
    } else this.#ask(request, call, false);
  }

  #runJson(request: JsonRequest, call: UnaryInferCall): void {
    const { message } = request;
    if (message !== undefined) this.#ask(message, call, true);
    else this.#runLong(this.#readJson(request), call, (read) => this.#ask(read, call, true));
  }

  #runLong(work: SliceGenerator<InferMessage>, call: UnaryInferCall, ask: (message: InferMessage) => void): void {
    this.#slices.run(work, this.callerOf(call), call.signal).then(
      (message) => {
        try {
          ask(message);
        } catch (error) {
          call.releaseRequest();
          call.fail(error);
        }
      },
      (error: unknown) => {
        call.releaseRequest();
        // Any other error comes from the generated code, for JSON that is not such a message.
        const told = error instanceof InferenceError ? error : unreadable(error);
        this.#dataPlane.noteRefusal(told.code);
        call.fail(told);
      },
    );
  }

  *#readContents(message: InferMessage): SliceGenerator<InferMessage> {
    yield* readContents(message, this.#catalogue);
    return message;
  }

  *#readJson(request: JsonRequest): SliceGenerator<InferMessage> {
    const message = yield* request.readInSlices();
    if (hasLongContents(message)) yield* readContents(message, this.#catalogue);
    return message;
  }

  #ask(message: InferMessage, call: UnaryInferCall, isJson: boolean): void {
    call.subject = message.modelName;
    const { request, classes } = this.#decode(message, call.timeoutMs, this.callerOf(call));
    this.#dataPlane.infer(request, call.signal).then(
      (answer) => {
        // The data plane is finished with the inputs, and the outputs are in memory of their own.
        call.releaseRequest();
        if (classes.size > 0) this.#answerClasses(answer, classes, call, isJson);
        else if (isJson) this.#answerJson(answer, call);
        else call.answer(answer, () => answer.release());
      },
      (error: unknown) => {
        call.releaseRequest();
        call.fail(error);
      },
    );
  }

  /** Answers a caller that sent JSON. */
  #answerJson(answer: InferAnswer, call: UnaryInferCall): void {
    if (!isLongAsJson(answer)) {
      call.answer(answer, () => answer.release());
      return;
    }
    this.#slices.run(encodeJson(answer), this.callerOf(call), call.signal).then(
      (response) => call.answer(response, () => answer.release()),
      (error: unknown) => {
        answer.release();
        call.fail(error);
      },
    );
  }

  openStream<Input extends StreamInput>(options: StreamOptions<Input>): InferStream<Input> {
    return this.#dataPlane.openStream(options);
  }

  /** One request of a stream; a promise where its contents take long to read. Throws for an invalid request. */
  readStreamed(
    message: InferMessage,
    caller: string,
    signal: CancelSignal,
  ): StreamedRequest | Promise<StreamedRequest> {
    if (!hasLongContents(message)) return this.#streamed(message, caller);
    return this.#slices
      .run(readContents(message, this.#catalogue), caller, signal)
      .then(() => this.#streamed(message, caller));
  }

  /** The tensors of an input of a durable stream; a promise where they take long to read. Throws for invalid ones. */
  readTensors(
    message: InferMessage,
    caller: string,
    signal: CancelSignal,
  ): readonly Tensor[] | Promise<readonly Tensor[]> {
    if (!hasLongContents(message)) return inputsFrom(message);
    return this.#slices.run(readContents(message, this.#catalogue), caller, signal).then(() => inputsFrom(message));
  }

  #streamed(message: InferMessage, caller: string): StreamedRequest {
    const { request, classes, wantsEnd } = this.#decode(message, undefined, caller);
    if (classes.size === 0) return { request, wantsEnd, finish: undefined };
    const finish = async (answer: InferAnswer, signal: CancelSignal): Promise<InferAnswer> => ({
      ...(await this.#classified(answer, classes, caller, signal)),
      release: () => answer.release(),
    });
    return { request, wantsEnd, finish };
  }

  #decode(message: InferMessage, timeoutMs: number | undefined, caller: string): DecodedGrpcRequest {
    try {
      const decoded = decodeKnownRequest(message, this.#catalogue, {
        caller,
        timeoutMs,
        deadlineAfter: this.#deadlineAfter,
      });
      const { classes } = decoded;
      const { model, version } = decoded.request.target;
      if (classes.size > 0) this.#checkClasses(model, version, classes);
      return decoded;
    } catch (error) {
      this.#dataPlane.noteRefusal(error instanceof InferenceError ? error.code : 'internal');
      throw error;
    }
  }

  /** The caller of the requests of this call. */
  callerOf(call: CallFacts): string {
    // Reading the metadata of a call allocates an object, which nearly no request needs.
    const { peer } = call;
    return this.#callers.readsHeaders(peer) ? this.#callers.callerOf(call.metadata, peer) : peer.owner;
  }

  #checkClasses(model: string, version: string, classes: ReadonlyMap<string, number>): void {
    const listed = new Map([...classes].map(([name, count]) => [name, { isBinary: true, classes: count }]));
    const view = this.#catalogue.mustFind(model, version);
    checkClassification({ listed, unlisted: { isBinary: true, classes: 0 } }, view);
  }

  #answerClasses(
    answer: InferAnswer,
    classes: ReadonlyMap<string, number>,
    call: UnaryInferCall,
    isJson: boolean,
  ): void {
    this.#classified(answer, classes, this.callerOf(call), call.signal).then(
      (response) => {
        const release = (): void => answer.release();
        if (isJson) this.#answerJson({ ...response, release }, call);
        else call.answer(response, release);
      },
      (error: unknown) => {
        answer.release();
        call.fail(error);
      },
    );
  }

  async #classified(
    answer: InferAnswer,
    classes: ReadonlyMap<string, number>,
    caller: string,
    signal: CancelSignal,
  ): Promise<InferResponse> {
    const work = this.#classify(answer, classes);
    const isShort = answer.outputs.every(
      ({ name, data }) => !classes.has(name) || data.byteLength <= classifiedAtOnceBytesMax,
    );
    return isShort ? doAtOnce(work) : this.#slices.run(work, caller, signal);
  }

  *#classify(answer: InferAnswer, classes: ReadonlyMap<string, number>): SliceGenerator<InferResponse> {
    const { model, version, id } = answer;
    const view = this.#catalogue.mustFind(model, version);
    const outputs: Tensor[] = [];
    for (const output of answer.outputs) {
      const count = classes.get(output.name);
      outputs.push(count === undefined ? output : yield* classify(output, count, view, this.#config));
    }
    return { model, version, id, outputs };
  }
}

function unreadable(error: unknown): InferenceError {
  const why = error instanceof Error ? error.message : String(error);
  return new InferenceError(
    'invalid-request',
    `the request message cannot be read: ${shortened(why, quotedCharactersMax)}`,
  );
}
