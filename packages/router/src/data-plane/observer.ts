/**
 * Where the data plane tells what happens to requests, batches and workers. Metrics listen here, and so will tracing.
 * The methods are called on the hot path: plain calls that never throw, bound to a model version beforehand.
 */
import type { EndReason } from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';

export type WorkerState = 'starting' | 'ready' | 'stopping';

/** Where the time of one batch went. What is in no part is the way between router and worker. */
export interface BatchTiming {
  /** Laying its rows side by side. */
  readonly computeInputMs: number;
  /** The engine's run, as the worker measured it. */
  readonly computeInferMs: number;
  /** Taking the answer apart. */
  readonly computeOutputMs: number;
}

/** Where the time of one answered request went: its batch's, and its own. */
export interface RequestTiming extends BatchTiming {
  /** From admission to the dispatch of the batch that answered it. */
  readonly queueMs: number;
  /** From admission to answer. */
  readonly totalMs: number;
}

/** One version of one model. */
export interface ModelObserver {
  /** The request is valid and waits for a batch. */
  requestAdmitted(inputBytes: number): void;
  /** Requests left the queue for a worker. */
  requestsDispatched(requests: number): void;
  /** Their worker died, or gave the batch back: they wait again. */
  requestsRequeued(requests: number): void;
  requestAnswered(timing: RequestTiming, outputBytes: number): void;
  /** An admitted request ended without an answer. */
  requestFailed(code: ErrorCode, totalMs: number, wasWaiting: boolean, rows: number): void;
  /** The request never entered the queue: full, not ready, invalid for this model. */
  requestRefused(code: ErrorCode): void;
  /** The version has a result cache. */
  cacheAttached(): void;
  /** Answered from a result that was kept, without a run. */
  requestCached(totalMs: number, outputBytes: number): void;
  /** No result was kept, but an identical request is on its way: this one waits for it. */
  requestFollows(): void;
  /** Answered by the run of an identical request. */
  requestCoalesced(totalMs: number, outputBytes: number): void;
  /** No result was kept for the request, and it is run; how long it took to know. */
  cacheMissed(lookUpMs: number): void;
  /** A worker ran a batch to its end. */
  batchRan(rows: number, timing: BatchTiming): void;
  /** A worker did not run a batch, because nobody waited for it any more. */
  batchSkipped(rows: number): void;
  /** The version has sequences. */
  sequencesAttached(): void;
  /** Sequences with a slot and without, and the bytes of their state; only for models that have sequences. */
  sequencesChanged(live: number, backlog: number, stateBytes: number): void;
  sequenceEnded(reason: EndReason): void;
  modelLoaded(loadMs: number): void;
  readinessChanged(isReady: boolean): void;
}

export interface DataPlaneObserver {
  /** Bind once per model version and keep it; asking again gives the same one. */
  observerFor(model: string, version: string): ModelObserver;
  /** The version is served no more. */
  modelForgotten(model: string, version: string): void;
  /** A request failed before any known model was found for it. Names that callers make up are never labels. */
  requestRefused(code: ErrorCode): void;
  workersChanged(counts: Readonly<Record<WorkerState, number>>): void;
  workerRestarted(): void;
  /** What the result cache holds now, and how many entries have made room for others so far. */
  cacheChanged(bytes: number, entries: number, evictions: number): void;
}

const silentModelObserver: ModelObserver = {
  requestAdmitted() {},
  requestsDispatched() {},
  requestsRequeued() {},
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
  modelLoaded() {},
  readinessChanged() {},
};

/** For programs that embed the engine and want no metrics. */
export const silentObserver: DataPlaneObserver = {
  observerFor: () => silentModelObserver,
  modelForgotten() {},
  requestRefused() {},
  workersChanged() {},
  workerRestarted() {},
  cacheChanged() {},
};
