/**
 * Events of requests, batches and workers, for metrics. The methods are called on the hot path: plain calls that never
 * throw, bound to a model version beforehand.
 */
import type { EndReason } from '@millrace/core';
import type { ErrorCode, FinishReason, GenerationLoad } from '@millrace/protocol';

/** `standby`: a process that waits for a model. */
export type WorkerState = 'starting' | 'ready' | 'stopping' | 'standby';

/** Where the time of one batch went. The rest is the transfer between router and worker. */
export interface BatchTiming {
  /** Laying out its inputs. */
  readonly computeInputMs: number;
  /** The engine's run, as the worker measured it. */
  readonly computeInferMs: number;
  /** Splitting the answer. */
  readonly computeOutputMs: number;
}

/** Where the time of one answered request went: that of its batch, and its own. */
export interface RequestTiming extends BatchTiming {
  /** From admission to the dispatch of the batch that answered it. */
  readonly queueMs: number;
  /** From admission to answer. */
  readonly totalMs: number;
}

/** The texts of one generator. A token that is generated again after a failure is not reported again. */
export interface GeneratorObserver {
  /** Its first token has come: so long after its request, and after its worker got it. */
  textBegan(promptTokens: number, firstTokenMs: number, prefillMs: number): void;
  /** `sinceLastMs`: since the token before; undefined: this worker has given none before it. */
  tokenGenerated(sinceLastMs: number | undefined): void;
  /** `decodeMs`: since the first token that its last worker gave. */
  textEnded(reason: FinishReason, decodeMs: number): void;
  /** Undefined: the worker is gone. */
  loadChanged(worker: number, load: GenerationLoad | undefined): void;
}

/** The events of one model version. */
export interface ModelObserver {
  /** The request is valid and waits for a batch. */
  requestAdmitted(inputBytes: number): void;
  /** Requests left the queue for a worker. */
  requestsDispatched(requests: number): void;
  /** Their worker exited, or returned the batch: they wait again. */
  requestsRequeued(requests: number): void;
  requestAnswered(timing: RequestTiming, outputBytes: number): void;
  /** An admitted request goes to the revision that has replaced this one, and is admitted there. */
  requestMoved(wasWaiting: boolean): void;
  /** An admitted request ended without an answer. */
  requestFailed(code: ErrorCode, totalMs: number, wasWaiting: boolean, rows: number): void;
  /** The request never entered the queue: full, not ready, invalid for this model. */
  requestRefused(code: ErrorCode): void;
  /** The version has a result cache. */
  cacheAttached(): void;
  /** Answered from the cache, without a run. */
  requestCached(totalMs: number, outputBytes: number): void;
  /** Not in the cache, but an identical request is in flight: this one waits for its result. */
  requestFollows(): void;
  /** Answered by the run of an identical request. */
  requestCoalesced(totalMs: number, outputBytes: number): void;
  /** The request was not in the cache and is run; `lookupMs`: how long the lookup took. */
  cacheMissed(lookupMs: number): void;
  /** A worker ran a batch to its end. */
  batchRan(rows: number, timing: BatchTiming): void;
  /** A worker did not run a batch, because nobody waited for it any more. */
  batchSkipped(rows: number): void;
  /** The version has sequences. */
  sequencesAttached(): void;
  /** Sequences with a slot and without, and the bytes of their state; only for models that have sequences. */
  sequencesChanged(live: number, backlog: number, stateBytes: number): void;
  sequenceEnded(reason: EndReason): void;
  /** For a version that generates text. */
  generator(): GeneratorObserver;
  modelLoaded(loadMs: number): void;
  readinessChanged(isReady: boolean): void;
}

export interface DataPlaneObserver {
  /** To be called once per model version and kept; further calls return the same one. */
  observerFor(model: string, version: string): ModelObserver;
  /** The version is no longer served. */
  modelForgotten(model: string, version: string): void;
  /** A request failed before its model was found. Names that callers make up never become metric labels. */
  requestRefused(code: ErrorCode): void;
  workersChanged(counts: Readonly<Record<WorkerState, number>>): void;
  workerRestarted(): void;
  /** What the result cache holds now, and how many entries were evicted so far. */
  cacheChanged(bytes: number, entries: number, evictions: number): void;
}

const silentGeneratorObserver: GeneratorObserver = {
  textBegan() {},
  tokenGenerated() {},
  textEnded() {},
  loadChanged() {},
};

const silentModelObserver: ModelObserver = {
  requestAdmitted() {},
  requestsDispatched() {},
  requestsRequeued() {},
  requestMoved() {},
  requestAnswered() {},
  requestFailed() {},
  requestRefused() {},
  cacheAttached() {},
  requestCached() {},
  requestFollows() {},
  requestCoalesced() {},
  cacheMissed() {},
  batchRan() {},
  batchSkipped() {},
  sequencesAttached() {},
  sequencesChanged() {},
  sequenceEnded() {},
  generator: () => silentGeneratorObserver,
  modelLoaded() {},
  readinessChanged() {},
};

/** For programs that embed the server and want no metrics. */
export const silentObserver: DataPlaneObserver = {
  observerFor: () => silentModelObserver,
  modelForgotten() {},
  requestRefused() {},
  workersChanged() {},
  workerRestarted() {},
  cacheChanged() {},
};
