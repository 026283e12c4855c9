/** The seam between edges and the data plane: what an edge decodes, and what it gets back to encode. */
import type { CancelSignal, ErrorCode, Tensor } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';
import type { InferStream, StreamInput, StreamOptions } from './streams/infer-stream.ts';
import type { ValidInferRequest } from './valid-request.ts';

export type ParameterValue = string | number | bigint | boolean;
export type Parameters = ReadonlyMap<string, ParameterValue>;

/** What is asked. */
export interface InferTarget {
  readonly model: string;
  /** Empty: the version the model's policy prefers. */
  readonly version: string;
  /** The caller's own id, echoed in the answer; empty when there is none. */
  readonly id: string;
  readonly parameters: Parameters;
  /** Names of the wanted outputs in the wanted order; empty: all, in the model's order. */
  readonly outputs: readonly string[];
  /** Its place in a sequence of requests that share state; undefined when it stands alone. */
  readonly sequence: SequenceStep | undefined;
}

/** Who asks, and under what conditions. Whatever is done on behalf of a request (steps of an ensemble, calls of a pipeline, parts) inherits it. */
export interface Origin {
  /** Whose request it is, as far as the edge can tell: for fairness, limits and what may be shared; empty: nobody's. */
  readonly caller: string;
  /** Milliseconds of the data plane's clock, from `DataPlane.deadlineAfter`; Infinity: the caller set none. */
  readonly deadlineAt: number;
  /**
   * Milliseconds that the request may wait, as its `timeout` parameter says: it shortens the queue timeout of a model that
   * has one and allows that, or the wait of a sequence for a slot. Elsewhere it is ignored. Infinity: not set.
   */
  readonly queueTimeoutMs: number;
  /** From 1, the most urgent; 0: the model's default. */
  readonly priority: number;
  /** Names of the models on whose behalf it is made, the outermost first; none for what comes from outside. */
  readonly trail: readonly string[];
}

/** A request as an edge decoded it: well-formed, but not yet checked against any model. */
export interface InferRequest {
  readonly target: InferTarget;
  readonly inputs: readonly Tensor[];
  readonly origin: Origin;
}

/** Of what comes from outside. */
export const noTrail: readonly string[] = [];

/** Adapts a part of a request to the version of the model that it goes to. */
export type FitPart = (request: InferRequest, view: ModelView) => InferRequest;

/** One step of a sequence. */
export interface SequenceStep {
  /** Chosen by the caller; a number and the text of its digits are different ids. */
  readonly id: bigint | string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
  /** Called when it has to wait until another sequence ends: who holds that one's next step back waits for ever. */
  readonly onSlotWait?: () => void;
}

export interface InferAnswer {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly Tensor[];
  /** Of a decoupled model: no answer, but the end of its answers. */
  readonly isEnd?: true;
  /** To be called once, when the outputs have been written: their memory is used again after it. */
  release(): void;
}

/**
 * Carries out a valid request. The data plane itself does so by a place in a queue and a row of a batch; a model whose
 * requests need more (steps of an ensemble, a sequence's state, a cache in front) has a runner that stands on it.
 */
export interface Runner {
  /** Rejects with an `InferenceError` only. */
  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer>;
  /** For runners that keep something from one request to the next: whether they do now. */
  readonly isHolding?: boolean;
  /** Whether this request goes on with it. */
  holds?(request: InferRequest): boolean;
  /** The model will never be served again: what was kept of it is of no use to anybody. */
  forget?(): void;
  /** Begins nothing new; resolves when nothing is kept any more. The model's workers must stay until then. */
  close?(): Promise<void>;
  /** The model is taken back: begins again, and `close` does not resolve if it has not yet. */
  reopen?(): void;
}

/** Every edge, the embedding API and the tests stand on this; every feature lives behind it. */
export interface DataPlane {
  /** Validates, queues, batches, runs. Rejects with an `InferenceError` only. */
  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer>;
  /** For many requests on one call, with models that give several answers among them. */
  openStream<Input extends StreamInput>(options: StreamOptions<Input>): InferStream<Input>;
  /** When a limit that a caller sets now is reached, as `Origin.deadlineAt`; undefined: it sets none. */
  deadlineAfter(timeoutMs: number | undefined): number;
  /** An edge could not make a request of what it was sent: told here, so that it is counted with the others. */
  noteRefusal(code: ErrorCode): void;
}
