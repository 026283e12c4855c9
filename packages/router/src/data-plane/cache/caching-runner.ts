/**
 * A runner with a cache in front: a result that is kept is given out at once, and of identical requests that come while
 * one of them is on its way only that one is run. Requests of sequences pass by, for their results depend on more than
 * what they bring.
 */
import { type FailedFlight, type Flights, isFailureOfRequest } from '@millrace/core';
import { Cancellation, type CancelReason, type CancelSignal, InferenceError } from '@millrace/protocol';
import type { CacheChoice } from '../../registry/cache-choice.ts';
import type { ModelObserver } from '../../telemetry/observer.ts';
import type { Clock } from '../clock.ts';
import type { InferAnswer, Runner } from '../infer.ts';
import type { ServedModel } from '../served-model.ts';
import type { ValidInferRequest } from '../valid-request.ts';
import { requestKeyFrom } from './request-key.ts';
import { bytesOf, type ResultCache } from './result-cache.ts';

export interface CachingRunnerParts {
  readonly model: ServedModel;
  readonly choice: CacheChoice;
  /** What runs a request whose result is not known. */
  readonly inner: Runner;
  readonly cache: ResultCache;
  /** Shared by the models of a server: their followers are bounded together. */
  readonly flights: Flights<WaitingRequest>;
  readonly clock: Clock;
  readonly observer: ModelObserver;
}

/** A request that waits for a run: its own, or that of an identical one. */
export interface WaitingRequest {
  readonly request: ValidInferRequest;
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: InferenceError) => void;
  readonly startedAt: number;
  stopListening: (() => void) | undefined;
  cancelTimer: (() => void) | undefined;
}

/** The longest delay a timer takes, 24 days: nobody waits for a deadline beyond. */
const timerMsMax = 2 ** 31 - 1;

export class CachingRunner implements Runner {
  readonly #parts: CachingRunnerParts;
  readonly #revision: number;
  /** What calls off the run of each flight. */
  readonly #runs = new Map<string, Cancellation>();

  constructor(parts: CachingRunnerParts) {
    this.#parts = parts;
    this.#revision = parts.cache.newRevision();
    parts.observer.cacheAttached();
  }

  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const { inner, cache, choice, clock, observer } = this.#parts;
    if (request.sequence !== undefined) return inner.run(request, signal);
    const startedAt = clock.now();
    const key = requestKeyFrom(request, this.#revision, choice.isShared);
    const kept = cache.take(key);
    const lookUpMs = clock.now() - startedAt;
    if (kept === undefined) return this.#await(key, request, signal, startedAt, lookUpMs);
    observer.requestCached(lookUpMs, bytesOf(kept.outputs));
    return Promise.resolve({ ...kept, id: request.id });
  }

  forget(): void {
    this.#parts.cache.forget(this.#parts.model);
  }

  #await(
    key: string,
    request: ValidInferRequest,
    signal: CancelSignal,
    startedAt: number,
    lookUpMs: number,
  ): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      const { flights, inner, clock, observer } = this.#parts;
      const waiter: WaitingRequest = {
        request,
        resolve,
        reject,
        startedAt,
        stopListening: undefined,
        cancelTimer: undefined,
      };
      // Together with a less urgent request, an urgent one would wait as long as that.
      const flight = `${key} ${request.priority}`;
      const part = flights.join(flight, waiter, request.bytes);
      if (part === 'follow') observer.requestFollows();
      else observer.cacheMissed(lookUpMs);
      if (part === 'alone') {
        inner.run(request, signal).then(resolve, reject);
        return;
      }
      if (part === 'lead') this.#launch(key, flight, request);
      const { timeoutMs } = request;
      if (timeoutMs !== undefined && timeoutMs <= timerMsMax) {
        waiter.cancelTimer = clock.after(timeoutMs, () => this.#leave(flight, waiter, 'deadline-exceeded'));
      }
      // Last: one that is cancelled already calls back at once, and then the waiter must be known.
      waiter.stopListening = signal.onCancel((reason) => this.#leave(flight, waiter, reason));
    });
  }

  #launch(key: string, flight: string, request: ValidInferRequest): void {
    const cancellation = new Cancellation();
    this.#runs.set(flight, cancellation);
    this.#parts.inner.run(request.detached(), cancellation).then(
      (answer) => {
        if (this.#runs.get(flight) === cancellation) this.#answered(key, flight, request.caller, answer);
        else answer.release();
      },
      (error: InferenceError) => {
        if (this.#runs.get(flight) === cancellation) this.#failed(key, flight, error);
      },
    );
  }

  #answered(key: string, flight: string, owner: string, answer: InferAnswer): void {
    const { cache, model, flights, clock, observer } = this.#parts;
    this.#runs.delete(flight);
    const waiters = flights.answered(flight);
    const kept = cache.keep(key, owner, model, answer);
    if (kept !== undefined) answer.release();
    const shared = kept ?? sharedAmong(waiters.length, answer);
    const bytes = bytesOf(shared.outputs);
    for (const [index, waiter] of waiters.entries()) {
      settle(waiter);
      // The run itself was counted as one request by whoever ran it.
      if (index > 0) observer.requestCoalesced(clock.now() - waiter.startedAt, bytes);
      waiter.resolve({ ...shared, id: waiter.request.id });
    }
  }

  #failed(key: string, flight: string, error: InferenceError): void {
    const { flights, observer } = this.#parts;
    this.#runs.delete(flight);
    const { told, next }: FailedFlight<WaitingRequest> = flights.failed(flight, isFailureOfRequest(error.code));
    for (const [index, waiter] of told.entries()) {
      settle(waiter);
      if (index > 0) observer.requestRefused(error.code);
      waiter.reject(error);
    }
    if (next !== undefined) this.#launch(key, flight, next.request);
  }

  #leave(flight: string, waiter: WaitingRequest, reason: CancelReason): void {
    const { flights, observer } = this.#parts;
    settle(waiter);
    if (flights.leave(flight, waiter)) {
      const run = this.#runs.get(flight);
      this.#runs.delete(flight);
      // Its end is counted where the run is.
      run?.cancel(reason);
    } else {
      observer.requestRefused(reason);
    }
    waiter.reject(new InferenceError(reason, leavingMessages[reason]));
  }
}

const leavingMessages: Readonly<Record<CancelReason, string>> = {
  cancelled: 'the caller cancelled the request',
  'deadline-exceeded': 'the deadline passed before the request was answered; give it more time',
};

function settle(waiter: WaitingRequest): void {
  waiter.stopListening?.();
  waiter.cancelTimer?.();
}

/** An answer too large to keep: its memory goes back when the last of those who share it has written it. */
function sharedAmong(holders: number, answer: InferAnswer): InferAnswer {
  let left = holders;
  const release = (): void => {
    left -= 1;
    if (left === 0) answer.release();
  };
  return { ...answer, release };
}
