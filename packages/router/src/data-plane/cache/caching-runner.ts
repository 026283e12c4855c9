/**
 * A runner with a result cache: a cached result is returned at once, and requests that are identical to one in flight wait
 * for its result instead of running. Requests of sequences bypass the cache, because their results also depend on the
 * sequence's state.
 */
import { type FailedFlight, type Flights, isSharedFailure } from '@millrace/core';
import { Cancellation, type CancelReason, type CancelSignal, InferenceError, RenewedMap } from '@millrace/protocol';
import type { CacheChoice } from '../../model/model-definition.ts';
import type { Clock } from '../clock.ts';
import { atDeadline } from '../deadline-timer.ts';
import type { InferAnswer, Runner } from '../infer.ts';
import type { ModelObserver } from '../observer.ts';
import type { ServedModel } from '../served-model.ts';
import { bytesOfTensors, copiesOf, finish } from '../sliced-work/copy-slices.ts';
import { copySliceBytesMax, type SlicedWork } from '../sliced-work/sliced-work.ts';
import type { ValidInferRequest } from '../valid-request.ts';
import { Waiter } from '../waiter.ts';
import { hashSliceBytesMax, requestKeyFrom, requestKeySlices } from './request-key.ts';
import type { ResultCache } from './result-cache.ts';

export interface CachingRunnerParts {
  readonly model: ServedModel;
  readonly choice: CacheChoice;
  /** Runs a request whose result is not cached. */
  readonly inner: Runner;
  readonly cache: ResultCache;
  /** Shared by all models of a server: the limit on followers applies to all of them together. */
  readonly flights: Flights<WaitingRequest>;
  readonly clock: Clock;
  readonly observer: ModelObserver;
  /** Hashes and copies large requests. */
  readonly sliced: SlicedWork;
}

/** A request that waits for a run: its own, or that of an identical one. */
export interface WaitingRequest {
  readonly request: ValidInferRequest;
  readonly waiter: Waiter;
  readonly startedAt: number;
  stopListening: (() => void) | undefined;
  cancelTimer: (() => void) | undefined;
}

/** The run of a flight. */
interface Run {
  readonly cancellation: Cancellation;
  /** Set while the inputs are copied: the request they are copied from, and how to stop the copy. */
  copying: { readonly from: WaitingRequest; readonly cancel: () => void } | undefined;
}

export class CachingRunner implements Runner {
  readonly #parts: CachingRunnerParts;
  readonly #revision: number;
  readonly #runs = new RenewedMap<string, Run>();
  #isForgotten: boolean = false;

  constructor(parts: CachingRunnerParts) {
    this.#parts = parts;
    this.#revision = parts.cache.newRevision();
    parts.observer.cacheAttached();
  }

  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const { inner, choice, clock } = this.#parts;
    if (request.sequence !== undefined) return inner.run(request, signal);
    const startedAt = clock.now();
    if (request.bytes > hashSliceBytesMax) return this.#runLarge(request, signal, startedAt);
    return this.#answerFor(requestKeyFrom(request, this.#revision, choice.isShared), request, signal, startedAt);
  }

  #answerFor(key: string, request: ValidInferRequest, signal: CancelSignal, startedAt: number): Promise<InferAnswer> {
    const { cache, clock, observer } = this.#parts;
    const kept = cache.take(key);
    const lookupMs = clock.now() - startedAt;
    if (kept === undefined) return this.#await(key, request, signal, startedAt, lookupMs);
    observer.requestCached(lookupMs, bytesOfTensors(kept.outputs));
    return Promise.resolve({ ...kept, id: request.id });
  }

  /** Hashes in slices; stops, and rejects, when the caller cancels or its deadline passes meanwhile. */
  #runLarge(request: ValidInferRequest, signal: CancelSignal, startedAt: number): Promise<InferAnswer> {
    const { choice, clock, observer, sliced } = this.#parts;
    return new Promise((resolve, reject) => {
      let key = '';
      const slices = requestKeySlices(request, this.#revision, choice.isShared);
      const hashing = (function* () {
        key = yield* slices;
      })();
      const found = (): void => {
        settle(waiting);
        this.#answerFor(key, request, signal, startedAt).then(resolve, reject);
      };
      const stop = sliced.run(hashing, found, undefined, request.caller);
      const leave = (reason: CancelReason): void => {
        stop();
        settle(waiting);
        observer.requestRefused(reason);
        reject(new InferenceError(reason, leavingMessages[reason]));
      };
      const waiting: Pick<WaitingRequest, 'stopListening' | 'cancelTimer'> = {
        cancelTimer: atDeadline(clock, request.origin.deadlineAt, () => leave('deadline-exceeded')),
        stopListening: undefined,
      };
      waiting.stopListening = signal.onCancel(leave);
    });
  }

  forget(): void {
    this.#isForgotten = true;
    this.#parts.cache.forget(this.#parts.model);
  }

  #await(
    key: string,
    request: ValidInferRequest,
    signal: CancelSignal,
    startedAt: number,
    lookupMs: number,
  ): Promise<InferAnswer> {
    return Waiter.promise(signal, (waiter) => {
      const { flights, inner, clock, observer } = this.#parts;
      const waiting: WaitingRequest = {
        request,
        waiter,
        startedAt,
        stopListening: undefined,
        cancelTimer: undefined,
      };
      // By priority: following a less urgent request, an urgent one would wait as long as that.
      const flight = `${key} ${request.origin.priority}`;
      const part = flights.join(flight, waiting, request.bytes);
      if (part === 'follow') observer.requestFollows();
      else observer.cacheMissed(lookupMs);
      if (part === 'alone') {
        inner.run(request, signal).then(waiter.resolve, waiter.reject);
        return;
      }
      if (part === 'lead') this.#launch(key, flight, waiting);
      const leave = (): void => this.#leave(key, flight, waiting, 'deadline-exceeded');
      waiting.cancelTimer = atDeadline(clock, request.origin.deadlineAt, leave);
      // Last: an already cancelled signal calls back at once, and the waiter must be known by then.
      waiting.stopListening = signal.onCancel((reason) => this.#leave(key, flight, waiting, reason));
    });
  }

  #launch(key: string, flight: string, waiting: WaitingRequest): void {
    const run: Run = { cancellation: new Cancellation(), copying: undefined };
    this.#runs.set(flight, run);
    const { request, slices } = waiting.request.detached();
    if (request.bytes <= copySliceBytesMax) {
      finish(slices);
      this.#start(key, flight, run, request);
      return;
    }
    const cancel = this.#parts.sliced.run(slices, () => {
      run.copying = undefined;
      this.#start(key, flight, run, request);
    });
    run.copying = { from: waiting, cancel };
  }

  #start(key: string, flight: string, run: Run, request: ValidInferRequest): void {
    this.#parts.inner.run(request, run.cancellation).then(
      (answer) => {
        if (this.#runs.get(flight) === run) this.#answered(key, flight, request.caller, answer);
        else answer.release();
      },
      (error: InferenceError) => {
        if (this.#runs.get(flight) === run) this.#failed(key, flight, error);
      },
    );
  }

  #answered(key: string, flight: string, owner: string, answer: InferAnswer): void {
    const { cache, model, flights, clock, observer } = this.#parts;
    this.#runs.delete(flight);
    const all = flights.answered(flight);
    const bytes = bytesOfTensors(answer.outputs);
    let shared: InferAnswer;
    if (bytes > copySliceBytesMax && cache.keeps(bytes)) {
      shared = sharedAmong(all.length + 1, answer);
      this.#keepLarge(key, owner, shared);
    } else {
      const kept = cache.keep(key, owner, model, answer);
      if (kept !== undefined) answer.release();
      shared = kept ?? sharedAmong(all.length, answer);
    }
    for (const [index, waiting] of all.entries()) {
      settle(waiting);
      // The inner runner has counted the run itself as one request.
      if (index > 0) observer.requestCoalesced(clock.now() - waiting.startedAt, bytes);
      waiting.waiter.resolve({ ...shared, id: waiting.request.id });
    }
  }

  /** Copies the answer in slices. No flight waits for the copy: identical requests that come meanwhile are run. */
  #keepLarge(key: string, owner: string, answer: InferAnswer): void {
    const { cache, model, sliced } = this.#parts;
    const { tensors, slices } = copiesOf(answer.outputs);
    sliced.run(slices, () => {
      answer.release();
      if (!this.#isForgotten) cache.put(key, owner, model, { ...answer, outputs: tensors });
    });
  }

  #failed(key: string, flight: string, error: InferenceError): void {
    const { flights, observer } = this.#parts;
    this.#runs.delete(flight);
    const { told, next }: FailedFlight<WaitingRequest> = flights.failed(flight, isSharedFailure(error.code));
    for (const [index, waiting] of told.entries()) {
      settle(waiting);
      if (index > 0) observer.requestRefused(error.code);
      waiting.waiter.reject(error);
    }
    if (next !== undefined) this.#launch(key, flight, next);
  }

  #leave(key: string, flight: string, waiting: WaitingRequest, reason: CancelReason): void {
    const { flights, observer } = this.#parts;
    settle(waiting);
    const run = this.#runs.get(flight);
    const isCopied = run?.copying?.from === waiting;
    // Its inputs must not be read any more once it has been rejected.
    if (isCopied) run?.copying?.cancel();
    if (flights.leave(flight, waiting)) {
      this.#runs.delete(flight);
      // The end of a run is counted by the inner runner; a run that has not begun is counted here.
      if (isCopied) observer.requestRefused(reason);
      else run?.cancellation.cancel(reason);
    } else {
      observer.requestRefused(reason);
      const next = flights.takeOldest(flight);
      if (isCopied && next !== undefined) this.#launch(key, flight, next);
    }
    waiting.waiter.reject(new InferenceError(reason, leavingMessages[reason]));
  }
}

const leavingMessages: Readonly<Record<CancelReason, string>> = {
  cancelled: 'the caller cancelled the request',
  'deadline-exceeded': 'the deadline passed before the request was answered; set a later deadline',
};

function settle(waiting: Pick<WaitingRequest, 'stopListening' | 'cancelTimer'>): void {
  waiting.stopListening?.();
  waiting.cancelTimer?.();
}

/** Shares an answer that is too large to cache: its memory is released when the last holder has written it. */
function sharedAmong(holders: number, answer: InferAnswer): InferAnswer {
  let left = holders;
  const release = (): void => {
    left -= 1;
    if (left === 0) answer.release();
  };
  return { ...answer, release };
}
