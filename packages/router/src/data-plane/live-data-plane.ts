/**
 * The data plane as it runs: turns calls and worker messages into the scheduler's events, and carries out the actions
 * that come back. It decides nothing itself.
 */
import type {
  BatchId,
  InstanceSnapshot,
  ModelKey,
  QueueSnapshot,
  RequestId,
  Scheduler,
  SchedulerAction,
  WorkerId,
} from '@millrace/core';
import {
  type AnsweredMessage,
  type CallCancelledMessage,
  type CallMessage,
  type CancelReason,
  type CancelSignal,
  type ErrorCode,
  type FailedMessage,
  InferenceError,
  neverCancelled,
  type WorkerLink,
} from '@millrace/protocol';
import type { ServedModels } from '../registry/served-models.ts';
import type { DataPlaneObserver, ModelObserver } from '../telemetry/observer.ts';
import { type AnswerSplitter, layOutBatch, splitterOf } from './batch-layout.ts';
import type { Clock } from './clock.ts';
import { afterWaiting, bringBackAttemptsMax, type Demand } from './demand.ts';
import type { DataPlane, InferAnswer, InferRequest, Runner } from './infer.ts';
import { PendingRequest, PendingRequests } from './pending-requests.ts';
import { BatchAnswer, type RunningBatch } from './running-batch.ts';
import type { ServedModel } from './served-model.ts';
import { ValidInferRequest } from './valid-request.ts';
import { WorkerCalls } from './worker-calls.ts';

type Resolve = (answer: InferAnswer) => void;
type Reject = (error: InferenceError) => void;

export interface LiveDataPlaneParts {
  readonly scheduler: Scheduler;
  readonly models: ServedModels;
  readonly clock: Clock;
  readonly observer: DataPlaneObserver;
}

export class LiveDataPlane implements DataPlane, Runner {
  readonly #scheduler: Scheduler;
  readonly #models: ServedModels;
  readonly #clock: Clock;
  readonly #observer: DataPlaneObserver;
  readonly #pending = new PendingRequests();
  readonly #running = new Map<BatchId, RunningBatch>();
  readonly #links = new Map<WorkerId, WorkerLink>();
  readonly #calls: WorkerCalls;
  /** When something first happened in this turn: reading the clock for each request would cost more than it tells. Undefined: nothing did. */
  #turnAt: number | undefined;
  #cancelWake: (() => void) | undefined;
  #onDrained: (() => void) | undefined;
  #isDraining: boolean = false;
  /** Requests of models with a runner that are not answered yet, by model. */
  readonly #heldByRunners = new Map<ModelKey, number>();
  /** Called when a runner has none left. */
  readonly #onRunnerIdle: (() => void)[] = [];
  /** Retired models whose runners still hold something. */
  readonly #closing = new Set<ServedModel>();
  /** Who waits for a retired model to have nothing left. */
  readonly #onIdle = new Map<ModelKey, () => void>();
  /** Those that were told to retire and not taken back since. */
  readonly #retiring = new Set<ModelKey>();
  #demand: Demand | undefined;
  #resolvePart: (request: InferRequest) => InferRequest = (request) => request;
  /** The answer the scheduler is being told about; `deliver` hands it out. */
  #answer: BatchAnswer | undefined;
  /** Answers of which parts wait for those of earlier requests, as the scheduler decides. */
  readonly #heldAnswers = new Map<BatchId, BatchAnswer>();
  /** How long it took `deliver` to take the answer apart. */
  #answerMs = 0;

  constructor(parts: LiveDataPlaneParts) {
    this.#scheduler = parts.scheduler;
    this.#models = parts.models;
    this.#clock = parts.clock;
    this.#observer = parts.observer;
    this.#calls = new WorkerCalls((request, signal) => this.inferPart(request, signal), parts.clock);
  }

  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => this.#infer(request, signal, resolve, reject, false, 0));
  }

  /** A part of a request that was accepted before, asked for by its runner: answered also while the server drains. */
  inferPart(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      let resolved: InferRequest;
      try {
        resolved = this.#resolvePart(request);
      } catch (error) {
        if (error instanceof InferenceError) this.#observer.requestRefused(error.code);
        reject(error);
        return;
      }
      this.#infer(resolved, signal, resolve, reject, true, 0);
    });
  }

  /** Parts are named as requests are; what a name means is decided in front of the data plane. */
  resolvePartsBy(resolve: (request: InferRequest) => InferRequest): void {
    this.#resolvePart = resolve;
  }

  /** The version with the state that the request goes on with; undefined: it begins something new, or nobody has it. */
  takeVersionHolding(request: InferRequest): string | undefined {
    const { model: name, sequence } = request;
    if (sequence === undefined || sequence.isStart) return undefined;
    const ready = this.#models.readyVersions(name).map((version) => this.#models.takeModel(name, version));
    const holder = [...this.#closing, ...ready].find(
      (model) => model?.view.name === name && model.runner?.holds?.(request) === true,
    );
    return holder?.view.version;
  }

  #infer(
    request: InferRequest,
    signal: CancelSignal,
    resolve: Resolve,
    reject: Reject,
    isPart: boolean,
    attempts: number,
  ): void {
    let model = this.#takeHolder(request) ?? this.#models.takeServed(request.model, request.version);
    const isServed = model !== undefined;
    let valid: ValidInferRequest;
    try {
      model ??= this.#models.mustKnow(request.model, request.version);
      valid = ValidInferRequest.from(request, model);
    } catch (error) {
      if (error instanceof InferenceError) {
        if (model === undefined) this.#observer.requestRefused(error.code);
        else this.#observerOf(model).requestRefused(error.code);
      }
      reject(error as InferenceError);
      return;
    }
    // A concurrent model asks others while it runs: what it needs comes as further requests, like a runner's.
    const runner = model.runner ?? (model.policy.isConcurrent ? this : undefined);
    if (!isServed) void this.#bringBack(request, valid, signal, resolve, reject, isPart, attempts);
    else if (runner === undefined) this.#submit(valid, signal, resolve, reject);
    else if (this.#isDraining && !isPart) {
      this.#observerOf(model).requestRefused('draining');
      reject(new InferenceError('draining', 'the server is shutting down; send the request to another one'));
    } else this.#runBy(runner, valid, signal).then(resolve, reject);
  }

  /** Waits until the version is loaded for the request, then begins anew: another may stand for it by then. */
  async #bringBack(
    request: InferRequest,
    { model, timeoutMs }: ValidInferRequest,
    signal: CancelSignal,
    resolve: Resolve,
    reject: Reject,
    isPart: boolean,
    attempts: number,
  ): Promise<void> {
    const cameAt = this.#clock.now();
    try {
      if (this.#demand === undefined || attempts >= bringBackAttemptsMax) throw cannotStay(model);
      await this.#demand.bringBack(model, timeoutMs, signal);
    } catch (error) {
      if (error instanceof InferenceError) this.#observerOf(model).requestRefused(error.code);
      reject(error as InferenceError);
      return;
    }
    this.#infer(afterWaiting(request, this.#clock.now() - cameAt), signal, resolve, reject, isPart, attempts + 1);
  }

  /** Keeps count of what runners hold: the scheduler knows only of the parts. */
  async #runBy(runner: Runner, request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const { key } = request.model;
    this.#heldByRunners.set(key, (this.#heldByRunners.get(key) ?? 0) + 1);
    try {
      return await runner.run(request, signal);
    } finally {
      const held = (this.#heldByRunners.get(key) ?? 1) - 1;
      if (held > 0) this.#heldByRunners.set(key, held);
      else this.#heldByRunners.delete(key);
      request.model.usedAt = this.#clock.now();
      if (held === 0) for (const listener of this.#onRunnerIdle.splice(0)) listener();
    }
  }

  /** Resolves when no runner, or none of that model, holds a request any more. */
  async #runnersIdle(key?: ModelKey): Promise<void> {
    const isBusy = (): boolean => (key === undefined ? this.#heldByRunners.size > 0 : this.#heldByRunners.has(key));
    while (isBusy()) {
      await new Promise<void>((resolve) => {
        this.#onRunnerIdle.push(resolve);
      });
    }
  }

  /** A version that begins nothing new but still holds what the request goes on with. */
  #takeHolder(request: InferRequest): ServedModel | undefined {
    if (this.#closing.size === 0) return undefined;
    for (const model of this.#closing) {
      const { name, version } = model.view;
      const isNamed = name === request.model && (request.version === '' || request.version === version);
      if (isNamed && model.runner?.holds?.(request) === true) return model;
    }
    return undefined;
  }

  /** By a place in the model's queue, whatever its runner. */
  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => this.#submit(request, signal, resolve, reject));
  }

  noteRefusal(code: ErrorCode): void {
    this.#observer.requestRefused(code);
  }

  #submit(request: ValidInferRequest, signal: CancelSignal, resolve: Resolve, reject: Reject): void {
    const now = this.#pumpSoon();
    if (request.model.usedAt !== now) request.model.usedAt = now;
    const pending = new PendingRequest(request, resolve, reject, now);
    this.#pending.add(pending);
    this.#observerOf(request.model).requestAdmitted(request.bytes);
    this.#scheduler.admit(pending, now);
    if (signal === neverCancelled) return;
    // Listening comes last: an already cancelled signal calls back at once, and the scheduler must know the request by then.
    pending.stopListening = signal.onCancel((reason) => {
      this.#cancel(pending, reason);
    });
  }

  #cancel({ request }: PendingRequest, reason: CancelReason): void {
    this.#scheduler.handle({ kind: 'request-cancelled', request, reason }, this.#clock.now());
    this.#pumpSoon();
  }

  /** From here on the scheduler may give this worker work. */
  attach(worker: WorkerId, link: WorkerLink): void {
    this.#links.set(worker, link);
  }

  workerCredit(worker: WorkerId, batchesMax: number): void {
    this.#scheduler.handle({ kind: 'worker-credit', worker, batchesMax }, this.#clock.now());
    this.#pumpSoon();
  }

  /** `priorityMax`: it takes requests of this priority level and more urgent ones only; Infinity: all. */
  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void {
    const now = this.#clock.now();
    this.#scheduler.handle({ kind: 'worker-serves', worker, model: model.key, priorityMax }, now);
    this.#pumpSoon();
  }

  workerGone(worker: WorkerId): void {
    // What was decided while the worker lived is carried out before its death is told: the scheduler counts on that.
    this.#perform();
    this.#links.delete(worker);
    for (const [id, batch] of this.#running) {
      if (batch.worker !== worker) continue;
      this.#running.delete(id);
      this.#calls.batchEnded(id);
      this.#returnToQueue(batch);
    }
    this.#scheduler.handle({ kind: 'worker-gone', worker }, this.#clock.now());
    this.#pumpSoon();
  }

  workerUnserves(worker: WorkerId, model: ServedModel): void {
    this.#scheduler.handle({ kind: 'worker-unserves', worker, model: model.key }, this.#clock.now());
    this.#pumpSoon();
  }

  /** From here on, requests for versions that are not in memory wait there. */
  setDemand(demand: Demand): void {
    this.#demand = demand;
  }

  /** Makes it known, or takes it back when it was to retire: what waits for that is not called. */
  addModel(model: ServedModel): void {
    this.#onIdle.delete(model.key);
    this.#retiring.delete(model.key);
    this.#closing.delete(model);
    model.runner?.reopen?.();
    this.#scheduler.handle({ kind: 'model-added', model: model.key, policy: model.policy }, this.#clock.now());
  }

  /** Requests of the model that wait for a batch, and that are under way. */
  workOf({ key }: ServedModel): { readonly waitingRequests: number; readonly runningRequests: number } {
    const waitingRequests = this.#scheduler.waitingFor(key);
    let runningRequests = 0;
    for (const batch of this.#running.values()) if (batch.model.key === key) runningRequests += batch.pending.length;
    return { waitingRequests, runningRequests };
  }

  isInUse(model: ServedModel): boolean {
    if (this.#heldByRunners.has(model.key) || model.runner?.isHolding === true) return true;
    return !this.#scheduler.isIdle(model.key);
  }

  /**
   * Gives the model no new requests; resolves when nothing of it waits or runs any more. Its workers must stay until
   * then. Never resolves when the model is taken back meanwhile.
   */
  async retireModel(model: ServedModel): Promise<void> {
    this.#retiring.add(model.key);
    if (model.runner?.close !== undefined) {
      this.#closing.add(model);
      await model.runner.close();
      this.#closing.delete(model);
    }
    // What its runner holds still asks the queue for parts.
    if (model.runner !== undefined) await this.#runnersIdle(model.key);
    if (!this.#retiring.has(model.key)) return new Promise(() => {});
    return new Promise((resolve) => {
      this.#onIdle.set(model.key, resolve);
      this.#scheduler.handle({ kind: 'model-retired', model: model.key }, this.#clock.now());
      this.#pumpSoon();
    });
  }

  removeModel(model: ServedModel): void {
    this.#scheduler.handle({ kind: 'model-removed', model: model.key }, this.#clock.now());
    this.#pumpSoon();
  }

  instances(): readonly InstanceSnapshot[] {
    return this.#scheduler.instances(this.#clock.now());
  }

  queues(): readonly QueueSnapshot[] {
    return this.#scheduler.queues();
  }

  /** The worker is trusted again from now on. */
  closeBreaker(worker: WorkerId): void {
    this.#scheduler.handle({ kind: 'breaker-closed', worker }, this.#clock.now());
    this.#pumpSoon();
  }

  /** A batch asks another model. */
  workerCalls(worker: WorkerId, message: CallMessage): void {
    const running = this.#running.get(message.batch);
    const link = this.#links.get(worker);
    if (running === undefined || running.worker !== worker || link === undefined) {
      message.region.release();
      return;
    }
    if (running.pending.every(({ hasEnded }) => hasEnded)) {
      message.region.release();
      link.send({ kind: 'call-failed', call: message.call, code: 'cancelled', message: 'nobody waits for the answer' });
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

  batchAnswered(message: AnsweredMessage): void {
    this.#calls.batchEnded(message.batch);
    const running = this.#running.get(message.batch);
    const answer = running && new BatchAnswer(running, message);
    this.#answer = answer;
    this.#answerMs = 0;
    this.#scheduler.handle({ kind: 'batch-answered', batch: message.batch }, this.#clock.now());
    this.#perform();
    this.#answer = undefined;
    if (answer?.isAwaited) this.#heldAnswers.set(message.batch, answer);
    else if (answer !== undefined) answer.endParts();
    else message.region.release();
    if (running !== undefined) {
      this.#observerOf(running.model).batchRan(running.rows, {
        computeInputMs: running.layOutMs,
        computeInferMs: message.runMicros / 1000,
        computeOutputMs: this.#answerMs,
      });
    }
    this.#running.delete(message.batch);
    this.#pumpSoon();
  }

  batchFailed(message: FailedMessage): void {
    const { batch, code } = message;
    this.#calls.batchEnded(batch);
    const running = this.#running.get(batch);
    this.#running.delete(batch);
    if (running !== undefined) {
      if (code === 'cancelled') this.#observerOf(running.model).batchSkipped(running.rows);
      this.#returnToQueue(running);
    }
    this.#scheduler.handle({ kind: 'batch-failed', batch, code, message: message.message }, this.#clock.now());
    this.#pumpSoon();
  }

  /** Refuses new requests; resolves when the last one is answered. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    // Their parts are requests of the scheduler, which takes none once it drains.
    if (this.#heldByRunners.size > 0) await this.#runnersIdle();
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.#scheduler.handle({ kind: 'drain-started' }, this.#clock.now());
      this.#pumpSoon();
    });
  }

  /** Batches form once per turn, from everything the turn brought in. Returns the time that counts in this turn. */
  #pumpSoon(): number {
    if (this.#turnAt !== undefined) return this.#turnAt;
    this.#clock.endOfTurn(() => {
      this.#turnAt = undefined;
      this.#scheduler.pump(this.#clock.now());
      this.#perform();
    });
    this.#turnAt = this.#clock.now();
    return this.#turnAt;
  }

  #perform(): void {
    for (const action of this.#scheduler.takeActions()) {
      switch (action.kind) {
        case 'dispatch':
          this.#dispatch(action);
          break;
        case 'deliver':
          this.#deliver(action);
          break;
        case 'refuse':
          this.#refuse(action.request, refusalFrom(action));
          break;
        case 'cancel-batch':
          this.#calls.batchEnded(action.batch);
          this.#links.get(action.worker)?.send({ kind: 'cancel', batch: action.batch });
          break;
        case 'kill-worker':
          this.#links.get(action.worker)?.kill(action.reason);
          break;
        case 'wake-at':
          this.#wakeAt(action.at);
          break;
        case 'model-idle':
          this.#onIdle.get(action.model)?.();
          this.#onIdle.delete(action.model);
          this.#retiring.delete(action.model);
          break;
        case 'drained':
          this.#onDrained?.();
          break;
      }
    }
    if (this.#heldAnswers.size > 0) this.#releaseHeld();
  }

  /** Lets go of held answers of which the last part was handed out, or is no longer waited for. */
  #releaseHeld(): void {
    for (const [batch, answer] of this.#heldAnswers) {
      if (answer.isAwaited) continue;
      this.#heldAnswers.delete(batch);
      answer.endParts();
    }
  }

  #dispatch(action: Extract<SchedulerAction, { kind: 'dispatch' }>): void {
    const link = this.#links.get(action.worker);
    // The scheduler was told that the worker is gone before the link left the table.
    if (link === undefined) throw new Error(`dispatch to worker ${action.worker}, which has no link`);
    const now = this.#clock.now();
    const pending = action.requests.map((id) => this.#pending.mustGet(id));
    let rows = 0;
    for (const request of pending) {
      request.isWaiting = false;
      request.firstRow = rows;
      rows += request.rows;
    }
    const { model } = (pending[0] as PendingRequest).valid;
    this.#observerOf(model).requestsDispatched(pending.length);
    const { region, inputs, outputs } = layOutBatch(model, pending, (bytes) => link.lend(bytes));
    this.#running.set(action.batch, {
      worker: action.worker,
      model,
      pending,
      rows,
      dispatchedAt: now,
      layOutMs: this.#clock.now() - now,
    });
    link.send({ kind: 'dispatch', batch: action.batch, model: model.handle, inputs, outputs, region });
  }

  #deliver(action: Extract<SchedulerAction, { kind: 'deliver' }>): void {
    const answer = this.#heldAnswers.get(action.batch) ?? (this.#answer as BatchAnswer);
    const { batch, message } = answer;
    const receivedAt = this.#clock.now();
    const { name, version } = batch.model.view;
    let splitter: Pick<AnswerSplitter, 'rows'>;
    try {
      splitter = splitterOf(batch.model, message, batch.rows, batch.pending);
    } catch (error) {
      for (const id of action.requests) this.#refuse(id, error as InferenceError);
      return;
    }
    const now = this.#clock.now();
    const splitMs = now - receivedAt;
    if (answer === this.#answer) this.#answerMs += splitMs;
    answer.hold(action.requests.length);
    const { release } = answer;
    const timing = {
      queueMs: 0,
      computeInputMs: batch.layOutMs,
      computeInferMs: message.runMicros / 1000,
      computeOutputMs: splitMs,
      totalMs: 0,
    };
    const observer = this.#observerOf(batch.model);
    for (const id of action.requests) {
      const pending = this.#pending.remove(id);
      const { valid, firstRow, arrivedAt } = pending;
      const outputs = splitter.rows(valid.outputs, firstRow, firstRow + valid.rows);
      let outputBytes = 0;
      for (const output of outputs) outputBytes += output.data.length;
      timing.queueMs = batch.dispatchedAt - arrivedAt;
      timing.totalMs = now - arrivedAt;
      observer.requestAnswered(timing, outputBytes);
      pending.resolve({ model: name, version, id: valid.id, outputs, release });
    }
  }

  #refuse(id: RequestId, error: InferenceError): void {
    const pending = this.#pending.remove(id);
    const { valid, arrivedAt, isWaiting } = pending;
    this.#observerOf(valid.model).requestFailed(error.code, this.#clock.now() - arrivedAt, isWaiting, valid.rows);
    pending.reject(error);
  }

  /** The requests of a batch that came to nothing wait again, or are refused by the actions that follow. */
  #returnToQueue(batch: RunningBatch): void {
    let returned = 0;
    for (const pending of batch.pending) {
      if (pending.hasEnded) continue;
      pending.isWaiting = true;
      returned += 1;
    }
    this.#observerOf(batch.model).requestsRequeued(returned);
  }

  #observerOf(model: ServedModel): ModelObserver {
    model.observer ??= this.#observer.observerFor(model.view.name, model.view.version);
    return model.observer;
  }

  #wakeAt(at: number): void {
    this.#cancelWake?.();
    // While a request waits or runs, its worker or the restart of one keeps the process alive.
    this.#cancelWake = this.#clock.alarm(Math.max(0, at - this.#clock.now()), () => {
      this.#cancelWake = undefined;
      this.#scheduler.handle({ kind: 'tick' }, this.#clock.now());
      this.#pumpSoon();
    });
  }
}

function cannotStay(model: ServedModel): InferenceError {
  const message = `${model.key} was unloaded to make room each time it was loaded; raise models.memoryBudget or retry later`;
  return new InferenceError('model-not-ready', message, { retryAfterMs: 1000 });
}

function refusalFrom(action: Extract<SchedulerAction, { kind: 'refuse' }>): InferenceError {
  const { code, message, retryAfterMs } = action;
  return new InferenceError(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs });
}
