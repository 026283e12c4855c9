/** The seam between edges and the data plane: what an edge decodes, and what it gets back to encode. */
import type { ModelKey } from '@millrace/core';
import type { CancelSignal, ErrorCode, Tensor } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';
import type { InputMemory } from './arriving-inputs.ts';
import type { InferStream, StreamInput, StreamOptions } from './streams/infer-stream.ts';
import type { ValidInferRequest } from './valid-request.ts';

export type ParameterValue = string | number | bigint | boolean;
export type Parameters = ReadonlyMap<string, ParameterValue>;

/** What a request asks for. */
export interface InferTarget {
  readonly model: string;
  /** Empty: the version the model's policy prefers. */
  readonly version: string;
  /** The caller's own id, echoed in the answer; empty when there is none. */
  readonly id: string;
  readonly parameters: Parameters;
  /** Names of the wanted outputs in the wanted order; empty: all, in the model's order. */
  readonly outputs: readonly string[];
  /** The revision that it has to run on, which its stream is pinned to; undefined: whichever is served. */
  readonly pinnedTo?: PinnedModel;
  /** It must not share a run with any other request. */
  readonly isAlone?: boolean;
  /** Answers of a generator that an earlier run of the same request gave, and that metrics count no more; 0 unless given. */
  readonly answersCounted?: number;
  /** Its step in a sequence of requests that share state; undefined: it belongs to none. */
  readonly sequence: SequenceStep | undefined;
}

/** A revision of a model, by its key. */
export interface PinnedModel {
  readonly key: ModelKey;
  /** Its files; undefined: it has none. */
  readonly source?: { isUnchanged(): Promise<boolean> } | undefined;
}

/** Who asks, and under what conditions. Requests made on behalf of another (steps of an ensemble, calls of a pipeline, parts) inherit it. */
export interface Origin {
  /** Whose request it is, as far as the edge can tell: for fairness, limits and shared results; empty: nobody's. */
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
  /** Names of the models on whose behalf it is made, the outermost first; empty for requests of clients. */
  readonly trail: readonly string[];
}

/** A request as an edge decoded it: well-formed, but not yet checked against any model. */
export interface InferRequest {
  readonly target: InferTarget;
  readonly inputs: readonly Tensor[];
  readonly origin: Origin;
}

/** The trail of a client's request. */
export const noTrail: readonly string[] = [];

/** Adapts a part of a request to the version of the model that it goes to. */
export type FitPart = (request: InferRequest, view: ModelView) => InferRequest;

/** One step of a sequence. */
export interface SequenceStep {
  /** Chosen by the caller; a number and the text of its digits are different ids. */
  readonly id: bigint | string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
  /** Called when it has to wait until another sequence ends: a caller that holds back that sequence's next step would wait for ever. */
  readonly onSlotWait?: () => void;
}

export interface InferAnswer {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly Tensor[];
  /** For a decoupled model: not an answer, but the end of its answers. */
  readonly isEnd?: true;
  /** To be called once, when the outputs have been written: their memory is reused afterwards. */
  release(): void;
}

/**
 * Runs a valid request. The data plane's own runner is the model's queue; a model whose requests need more (steps of an
 * ensemble, a sequence's state, a cache) has a runner on top of it.
 */
export interface Runner {
  /** Rejects with an `InferenceError` only. */
  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer>;
  /** For runners that keep state from one request to the next: whether they hold any now. */
  readonly isHolding?: boolean;
  /** Whether this request continues with state that the runner holds. */
  holds?(request: InferRequest): boolean;
  /** The request goes to another revision: state that it begins anew there is not continued here. */
  beginsElsewhere?(request: InferRequest): void;
  /** The model will never be served again: drops what was kept for it. */
  forget?(): void;
  /** Starts nothing new; resolves when no state is held any more. The model's workers must stay until then. */
  close?(): Promise<void>;
  /** The model is served again: a pending `close` does not resolve. */
  reopen?(): void;
}

/** What every edge, the embedding API and the tests call; every feature is implemented behind it. */
export interface DataPlane {
  /** Validates, queues, batches, runs. Rejects with an `InferenceError` only. */
  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer>;
  /** For many requests on one call, also to models that give several answers. */
  openStream<Input extends StreamInput>(options: StreamOptions<Input>): InferStream<Input>;
  /** The `Origin.deadlineAt` for a timeout that starts now; undefined: the caller sets none. */
  deadlineAfter(timeoutMs: number | undefined): number;
  /**
   * Where all inputs of a large request for this model may be received, so that they are not copied for its worker. Undefined, or
   * no such method: in any memory.
   */
  inputMemory?(model: string, version: string): InputMemory | undefined;
  /** An edge could not decode a request: counts it with the other refusals. */
  noteRefusal(code: ErrorCode): void;
}
