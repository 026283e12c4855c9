/**
 * Runs the requests of an ensemble: each step is an ordinary request to its model, so steps of many requests share
 * batches, and the data plane handles deadlines, priorities, limits and retries. The core decides which step starts when.
 */
import { type AnswerHoldings, type EnsemblePlan, InflightGate } from '@millrace/core';
import { type CancelReason, type CancelSignal, InferenceError } from '@millrace/protocol';
import type { Clock } from '../clock.ts';
import { atDeadline } from '../deadline-timer.ts';
import type { FitPart, InferAnswer, InferRequest, Runner } from '../infer.ts';
import type { ModelObserver } from '../observer.ts';
import type { ValidInferRequest } from '../valid-request.ts';
import { Waiter } from '../waiter.ts';
import { EnsembleRequest } from './ensemble-request.ts';

/** Infers a request on behalf of another one: the step of an ensemble, or the call of a pipeline. */
export type InferStep = (request: InferRequest, signal: CancelSignal, fit?: FitPart) => Promise<InferAnswer>;

export interface EnsembleRunnerParts {
  readonly plan: EnsemblePlan;
  /** Requests in flight at once; Infinity: no limit other than those of the steps. */
  readonly inflightMax: number;
  /** Requests beyond `inflightMax` that may wait. */
  readonly waitingMax: number;
  readonly waitingBytesMax: number;
  readonly infer: InferStep;
  /** Of all ensembles. */
  readonly holdings: AnswerHoldings;
  readonly clock: Clock;
  readonly observer: ModelObserver;
}

/** One request at the in-flight gate. */
interface Arrival {
  readonly request: ValidInferRequest;
  readonly waiter: Waiter;
  readonly arrivedAt: number;
  /** Ends its wait at the gate. */
  stopWaiting: () => void;
}

export class EnsembleRunner implements Runner {
  readonly #parts: EnsembleRunnerParts;
  readonly #gate: InflightGate<Arrival>;

  constructor(parts: EnsembleRunnerParts) {
    this.#parts = parts;
    this.#gate = new InflightGate(parts);
  }

  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return Waiter.promise(signal, (waiter) => {
      const { clock, observer, inflightMax, waitingMax } = this.#parts;
      const arrival: Arrival = { request, waiter, arrivedAt: clock.now(), stopWaiting: doNothing };
      const verdict = this.#gate.enter(arrival, request.bytes);
      if (verdict === 'full') {
        observer.requestRefused('model-full');
        const text = `${request.model.key} has ${inflightMax} requests in flight (max_inflight_requests)`;
        waiter.reject(
          new InferenceError(
            'model-full',
            `${text}, and its queue is full (at most ${waitingMax} requests); retry later`,
          ),
        );
        return;
      }
      observer.requestAdmitted(request.bytes);
      if (verdict === 'now') this.#start(arrival);
      else this.#wait(arrival);
    });
  }

  #wait(arrival: Arrival): void {
    const { clock } = this.#parts;
    const { request, waiter } = arrival;
    const giveUp = (reason: CancelReason): void => {
      if (!this.#gate.giveUp(arrival)) return;
      arrival.stopWaiting();
      this.#fail(arrival, waitEnded(reason), true);
    };
    const stopTimer = atDeadline(clock, request.origin.deadlineAt, () => giveUp('deadline-exceeded'));
    let stopListening = doNothing;
    arrival.stopWaiting = () => {
      stopTimer();
      stopListening();
    };
    // Last: an already cancelled signal calls back at once.
    stopListening = waiter.signal.onCancel(giveUp);
  }

  #start(arrival: Arrival): void {
    const { clock, observer, plan, infer, holdings } = this.#parts;
    arrival.stopWaiting();
    observer.requestsDispatched(1);
    const startedAt = clock.now();
    const running = new EnsembleRequest({ plan, infer, holdings, request: arrival.request });
    const stopListening = arrival.waiter.signal.onCancel((reason) => running.cancel(reason));
    running.start((outcome) => {
      stopListening();
      const next = this.#gate.leave();
      if (next !== undefined) this.#start(next);
      if (outcome instanceof InferenceError) {
        this.#fail(arrival, outcome, false);
        return;
      }
      const now = clock.now();
      const queueMs = startedAt - arrival.arrivedAt;
      let outputBytes = 0;
      for (const { data } of outcome.outputs) outputBytes += data.byteLength;
      const compute = { computeInputMs: 0, computeInferMs: now - startedAt, computeOutputMs: 0 };
      observer.batchRan(arrival.request.rows, compute);
      observer.requestAnswered({ queueMs, ...compute, totalMs: now - arrival.arrivedAt }, outputBytes);
      arrival.waiter.resolve(outcome);
    });
  }

  #fail(arrival: Arrival, error: InferenceError, wasWaiting: boolean): void {
    const { clock, observer } = this.#parts;
    observer.requestFailed(error.code, clock.now() - arrival.arrivedAt, wasWaiting, arrival.request.rows);
    arrival.waiter.reject(error);
  }
}

function waitEnded(reason: CancelReason): InferenceError {
  return reason === 'cancelled'
    ? new InferenceError('cancelled', 'the caller cancelled the request')
    : new InferenceError('deadline-exceeded', 'the deadline passed while the request waited for its ensemble');
}

function doNothing(): void {}
