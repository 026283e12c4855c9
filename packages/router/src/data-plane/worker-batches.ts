/**
 * The batches that workers hold: lays them out and sends them, cancels or requeues them, and splits their answers among the
 * waiting requests. The scheduler decides what is dispatched and who gets an answer.
 */
import type { BatchId, ModelKey, RequestId, SchedulerAction, WorkerId } from '@millrace/core';
import {
  type AnsweredMessage,
  type CallCancelledMessage,
  type CallMessage,
  type FailedMessage,
  IdMap,
  InferenceError,
  type PartialAnswerMessage,
  type Tensor,
  type WorkerLink,
} from '@millrace/protocol';
import { type BatchPart, inMemoryOrder, layOutOrRefuse, splitterOf, wholeAnswer } from './batch-layout.ts';
import { BatchSending, type CreditListener } from './batch-sending.ts';
import type { Clock } from './clock.ts';
import type { InferStep } from './ensemble/ensemble-runner.ts';
import { explainedFailure } from './equal-sizes.ts';
import { HeldAnswers } from './held-answers.ts';
import type { ModelObservers } from './model-observers.ts';
import type { PendingRequest, PendingRequests } from './pending-requests.ts';
import { BatchAnswer, type RunningBatch } from './running-batch.ts';
import type { ServedModel } from './served-model.ts';
import type { SlicedWork } from './sliced-work/sliced-work.ts';
import { WorkerCalls } from './worker-calls.ts';

type Action<Kind extends SchedulerAction['kind']> = Extract<SchedulerAction, { kind: Kind }>;

export interface WorkerBatchesParts {
  readonly pending: PendingRequests;
  readonly observers: ModelObservers;
  readonly clock: Clock;
  /** Answers the calls of batches to other models. */
  readonly infer: InferStep;
  readonly onSharingStopped: SharingStopped;
  /** Copies large inputs. */
  readonly sliced: SlicedWork;
  /** Whether the revision that has replaced the request's own runs it instead, and settles the waiter. */
  readonly moveToSuccessor: (request: PendingRequest['valid'], waiter: PendingRequest['waiter']) => boolean;
  /** A batch was cancelled before it was sent, or cannot be: called in a later turn, as for a worker's message. */
  readonly onSkipped: (message: FailedMessage) => void;
  readonly onCredit: CreditListener;
  /** Most bytes of answers that wait for those of earlier requests; default: that of memory for requests. */
  readonly heldAnswerBytesMax?: number | undefined;
}

/** Called when the answer of a shared run could not be split: the model's requests run alone from then on. */
export type SharingStopped = (model: ServedModel, reason: string) => void;

const noOutputs: readonly Tensor[] = [];

/** The requests with the rows that the engine gets. Without shaping these are the rows that the scheduler counts. */
function partsOf(model: ServedModel, pending: readonly PendingRequest[]): readonly BatchPart[] {
  return model.shaping === undefined ? pending : pending.map(({ valid }) => valid);
}

export class WorkerBatches {
  readonly #pending: PendingRequests;
  readonly #observers: ModelObservers;
  readonly #clock: Clock;
  readonly #calls: WorkerCalls;
  readonly #onSharingStopped: SharingStopped;
  readonly #onSkipped: (message: FailedMessage) => void;
  readonly #moveToSuccessor: WorkerBatchesParts['moveToSuccessor'];
  readonly #sending: BatchSending;
  readonly #onCredit: CreditListener;
  readonly #links = new Map<WorkerId, WorkerLink>();
  readonly #running = new IdMap<RunningBatch>();
  /** The answer that the scheduler is handling; `deliver` hands it out. */
  #answer: BatchAnswer | undefined;
  readonly #heldAnswers: HeldAnswers<BatchAnswer>;

  constructor(parts: WorkerBatchesParts) {
    const { pending, observers, clock, infer, onSharingStopped, sliced, onSkipped, onCredit } = parts;
    this.#moveToSuccessor = parts.moveToSuccessor;
    this.#onSharingStopped = onSharingStopped;
    this.#onSkipped = onSkipped;
    this.#onCredit = onCredit;
    this.#heldAnswers = new HeldAnswers(parts.heldAnswerBytesMax);
    this.#sending = new BatchSending(sliced, () => clock.now(), onCredit);
    this.#pending = pending;
    this.#observers = observers;
    this.#clock = clock;
    this.#calls = new WorkerCalls({ infer, clock, sliced });
  }

  attach(worker: WorkerId, link: WorkerLink): void {
    this.#links.set(worker, link);
  }

  linkOf(worker: WorkerId): WorkerLink | undefined {
    return this.#links.get(worker);
  }

  /** A worker runs its batches in the order in which they were sent. */
  runningModel(worker: WorkerId): ServedModel | undefined {
    for (const batch of this.#running.values()) if (batch.worker === worker) return batch.model;
    return undefined;
  }

  workerGone(worker: WorkerId): void {
    this.#links.delete(worker);
    this.#sending.workerGone(worker);
    for (const [id, batch] of this.#running.entries()) {
      if (batch.worker !== worker) continue;
      this.#running.delete(id);
      this.#calls.batchEnded(id);
      this.#observers.generatorReported(batch, undefined);
      this.#returnToQueue(batch);
    }
  }

  /** Requests of the model that are in batches. */
  requestsOf(key: ModelKey): number {
    let requests = 0;
    for (const batch of this.#running.values()) if (batch.model.key === key) requests += batch.pending.length;
    return requests;
  }

  dispatch(action: Action<'dispatch'>): void {
    const link = this.#links.get(action.worker);
    // All earlier dispatches to a worker are performed before its link is removed.
    if (link === undefined) throw new Error(`dispatch to worker ${action.worker}, which has no link`);
    const now = this.#clock.now();
    const pending = inMemoryOrder(action.requests.map((id) => this.#pending.mustGet(id)));
    let rows = 0;
    for (const request of pending) {
      request.isWaiting = false;
      request.firstRow = rows;
      rows += request.valid.rows;
    }
    const { model } = (pending[0] as PendingRequest).valid;
    this.#observers.of(model).requestsDispatched(pending.length);
    const laidOut = layOutOrRefuse(model, partsOf(model, pending), link);
    const running: RunningBatch = {
      worker: action.worker,
      model,
      pending,
      rows,
      dispatchedAt: now,
      layOutMs: this.#clock.now() - now,
      tokens: undefined,
    };
    this.#running.set(action.batch, running);
    if (laidOut instanceof InferenceError) {
      this.#skip(action.batch, 'unsupported', laidOut.message);
      return;
    }
    const { region, inputs, outputs, slices } = laidOut;
    const message = { kind: 'dispatch', batch: action.batch, model: model.handle, inputs, outputs, region } as const;
    this.#sending.send(link, message, running, slices);
  }

  /** Passes on one of several answers to the request of the batch. */
  partialAnswer(message: PartialAnswerMessage): void {
    const running = this.#running.get(message.batch);
    const pending = running?.pending[0];
    const flow = pending?.waiter.flow;
    if (running === undefined || pending === undefined || flow === undefined || pending.hasEnded) {
      message.region.release();
      return;
    }
    const { valid } = pending;
    const { model } = running;
    const { name, version } = model.view;
    if (message.generation !== undefined) this.#observers.tokenCame(running, message, this.#clock.now());
    const outputs =
      model.shaping === undefined
        ? wholeAnswer(model, message, valid.outputs)
        : splitterOf(model, message, 1, [valid]).rows(valid.outputs, 0, 1);
    const release = (): void => message.region.release();
    flow.give({ model: name, version, id: valid.id, outputs, release });
  }

  cancel({ batch, worker }: Action<'cancel-batch'>): void {
    this.#calls.batchEnded(batch);
    if (this.#sending.cancel(worker, batch)) this.#skip(batch, 'cancelled', 'batch cancelled before it was sent');
    else this.#links.get(worker)?.send({ kind: 'cancel', batch });
    // Nothing keeps its worker from ending it now: from here on its run limit applies.
    this.#onCredit(batch, true);
  }

  #skip(batch: BatchId, code: FailedMessage['code'], message: string): void {
    this.#clock.endOfTurn(() => {
      // Its worker may have exited by then, and its batches with it.
      if (!this.#running.has(batch)) return;
      this.#onSkipped({ kind: 'failed', batch, code, message });
    });
  }

  kill({ worker, reason }: Action<'kill-worker'>): void {
    this.#links.get(worker)?.kill(reason);
  }

  /**
   * To be called before the scheduler is told of the answer; `deliver` carries out its decisions. Returns the error when the
   * answer cannot be split among its requests: then the batch has failed.
   */
  beginAnswer(message: AnsweredMessage): InferenceError | undefined {
    this.#calls.batchEnded(message.batch);
    const running = this.#running.get(message.batch);
    if (running === undefined) return undefined;
    const { model, rows, pending } = running;
    model.runTimes.add(message.runMicros);
    const receivedAt = this.#clock.now();
    try {
      const splitter = splitterOf(model, message, rows, partsOf(model, pending));
      this.#answer = new BatchAnswer(running, message, splitter, this.#clock.now() - receivedAt);
    } catch (error) {
      message.region.release();
      if (pending.length > 1 && model.sharesRuns) this.#stopSharing(model, error as InferenceError);
      return error as InferenceError;
    }
    return undefined;
  }

  /** The model does not batch as its configuration says: from now on each of its requests runs alone. */
  #stopSharing(model: ServedModel, { message }: InferenceError): void {
    model.sharesRuns = false;
    this.#onSharingStopped(model, message);
  }

  /** To be called when the scheduler has handled the answer. */
  endAnswer(message: AnsweredMessage): void {
    const answer = this.#answer;
    this.#answer = undefined;
    this.#running.delete(message.batch);
    if (answer === undefined) {
      message.region.release();
      return;
    }
    const { model, rows, layOutMs, pending } = answer.batch;
    if (message.generation !== undefined) this.#observers.generatorReported(answer.batch, message.generation);
    // The only request of a batch of a decoupled model: it gets no more answers.
    pending[0]?.waiter.flow?.disconnect();
    this.#observers.of(model).batchRan(rows, {
      computeInputMs: layOutMs,
      computeInferMs: message.runMicros / 1000,
      computeOutputMs: answer.splitMs,
    });
    if (answer.isAwaited) this.#heldAnswers.hold(message.batch, answer);
    else answer.endParts();
  }

  deliver(action: Action<'deliver'>): void {
    const answer = this.#heldAnswers.get(action.batch) ?? (this.#answer as BatchAnswer);
    const { batch, message, splitter, refusal, release } = answer;
    if (refusal !== undefined) {
      for (const id of action.requests) this.refuse(id, refusal);
      return;
    }
    const now = this.#clock.now();
    answer.hold(action.requests.length);
    const { name, version } = batch.model.view;
    const observer = this.#observers.of(batch.model);
    const timing = {
      queueMs: 0,
      computeInputMs: batch.layOutMs,
      computeInferMs: message.runMicros / 1000,
      computeOutputMs: answer.splitMs,
      totalMs: 0,
    };
    for (const id of action.requests) {
      const pending = this.#pending.remove(id);
      const { valid, firstRow, arrivedAt } = pending;
      const isEnd = pending.waiter.flow !== undefined;
      const outputs = isEnd ? noOutputs : splitter.rows(valid.outputs, firstRow, firstRow + valid.rows);
      let outputBytes = 0;
      for (const output of outputs) outputBytes += output.data.length;
      timing.queueMs = batch.dispatchedAt - arrivedAt;
      timing.totalMs = now - arrivedAt;
      observer.requestAnswered(timing, outputBytes);
      const answer = { model: name, version, id: valid.id, outputs, release };
      pending.waiter.resolve(isEnd ? { ...answer, isEnd } : answer);
    }
  }

  /** Refuses a request, also one that still waits. */
  refuse(id: RequestId, error: InferenceError): void {
    const pending = this.#pending.remove(id);
    const { valid, arrivedAt, isWaiting } = pending;
    pending.waiter.flow?.disconnect();
    if (error.code === 'model-not-ready' && this.#moveToSuccessor(valid, pending.waiter)) {
      this.#observers.of(valid.model).requestMoved(isWaiting);
      return;
    }
    const told = explainedFailure(error, valid.inputs, valid.model.view);
    this.#observers.of(valid.model).requestFailed(told.code, this.#clock.now() - arrivedAt, isWaiting, valid.rows);
    if (!this.#sending.waitForCopy(pending, () => pending.waiter.reject(told))) pending.waiter.reject(told);
  }

  failed({ batch, code, generation }: FailedMessage): void {
    this.#calls.batchEnded(batch);
    const running = this.#running.get(batch);
    this.#running.delete(batch);
    if (running === undefined) return;
    if (generation !== undefined) this.#observers.generatorReported(running, generation);
    if (code === 'cancelled') this.#observers.of(running.model).batchSkipped(running.rows);
    this.#returnToQueue(running);
  }

  /** Releases held answers whose last part was handed out, or is no longer waited for. */
  releaseHeld(): void {
    this.#heldAnswers.releaseEnded();
  }

  /** A batch calls another model. */
  call(worker: WorkerId, message: CallMessage): void {
    const running = this.#running.get(message.batch);
    const link = this.#links.get(worker);
    if (running === undefined || running.worker !== worker || link === undefined) {
      message.region.release();
      return;
    }
    if (running.pending.every(({ hasEnded }) => hasEnded)) {
      message.region.release();
      link.send({
        kind: 'call-failed',
        call: message.call,
        code: 'cancelled',
        message: 'all requests of the batch have ended',
      });
      return;
    }
    let deadlineAt = 0;
    for (const pending of running.pending) deadlineAt = Math.max(deadlineAt, pending.deadlineAt);
    const requests = running.pending.map(({ valid }) => valid);
    this.#calls.begin(message, { link, requests, deadlineAt });
  }

  callCancelled(message: CallCancelledMessage): void {
    this.#calls.cancelled(message);
  }

  /** The requests of a failed batch wait again, or are refused by the actions that follow. */
  #returnToQueue(batch: RunningBatch): void {
    let returned = 0;
    for (const pending of batch.pending) {
      if (pending.hasEnded) continue;
      pending.isWaiting = true;
      pending.waiter.flow?.disconnect();
      returned += 1;
    }
    this.#observers.of(batch.model).requestsRequeued(returned);
  }
}
