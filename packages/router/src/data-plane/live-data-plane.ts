/**
 * The data plane as it runs: turns calls and worker messages into the scheduler's events, and carries out the actions
 * that come back. It decides nothing itself.
 */
import type { InstanceSnapshot, QueueSnapshot, Scheduler, SchedulerAction, WorkerId } from '@millrace/core';
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
import { isLongTexts } from './bytes-check.ts';
import type { Clock } from './clock.ts';
import { afterWaiting, bringBackAttemptsMax, type Demand } from './demand.ts';
import { HeldByRunners } from './held-by-runners.ts';
import type { DataPlane, FitPart, InferAnswer, InferRequest, Runner } from './infer.ts';
import type { KnownModels } from './known-models.ts';
import { ModelObservers } from './model-observers.ts';
import type { DataPlaneObserver } from './observer.ts';
import { PendingRequest, PendingRequests } from './pending-requests.ts';
import { RetiringModels } from './retiring-models.ts';
import type { ServedModel } from './served-model.ts';
import { SlicedWork } from './sliced-work/sliced-work.ts';
import { SplitRunner } from './splitting/split-runner.ts';
import { longTextSlices, ValidInferRequest } from './valid-request.ts';
import { type SharingStopped, WorkerBatches } from './worker-batches.ts';

type Resolve = (answer: InferAnswer) => void;
type Reject = (error: InferenceError) => void;

export interface LiveDataPlaneParts {
  readonly scheduler: Scheduler;
  readonly models: KnownModels;
  readonly clock: Clock;
  readonly observer: DataPlaneObserver;
  readonly onSharingStopped?: SharingStopped;
}

export class LiveDataPlane implements DataPlane, Runner {
  /** For all work on bytes that is too long for one turn: it takes turns. */
  readonly sliced: SlicedWork;
  readonly #scheduler: Scheduler;
  readonly #models: KnownModels;
  readonly #clock: Clock;
  readonly #observer: DataPlaneObserver;
  readonly #pending = new PendingRequests();
  readonly #batches: WorkerBatches;
  readonly #observers: ModelObservers;
  readonly #heldByRunners: HeldByRunners;
  readonly #splitting: SplitRunner;
  readonly #retiring = new RetiringModels();
  /**
   * When something first happened in this turn: reading the clock for each request would cost more than it tells.
   * Undefined: nothing did yet.
   */
  #turnAt: number | undefined;
  #cancelWake: (() => void) | undefined;
  #onDrained: (() => void) | undefined;
  #isDraining: boolean = false;
  #demand: Demand | undefined;
  #resolvePart: (request: InferRequest) => InferRequest = (request) => request;

  constructor(parts: LiveDataPlaneParts) {
    this.#scheduler = parts.scheduler;
    this.#models = parts.models;
    this.#clock = parts.clock;
    this.#observer = parts.observer;
    this.#observers = new ModelObservers(parts.observer);
    this.#heldByRunners = new HeldByRunners(parts.clock);
    this.sliced = new SlicedWork(parts.clock);
    this.#batches = new WorkerBatches({
      pending: this.#pending,
      observers: this.#observers,
      clock: parts.clock,
      infer: (request, signal) => this.inferPart(request, signal),
      onSharingStopped: parts.onSharingStopped ?? (() => {}),
      sliced: this.sliced,
      onSkipped: (message) => this.batchFailed(message),
    });
    this.#splitting = new SplitRunner((part, signal) => this.#enqueue(part, signal), parts.clock, this.sliced);
  }

  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => this.#infer(request, signal, resolve, reject, false, 0));
  }

  /**
   * A part of a request that was accepted before, asked for by its runner: answered also while the server drains. `fit`
   * adapts it to the version that it goes to.
   */
  inferPart(request: InferRequest, signal: CancelSignal, fit?: FitPart): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      let resolved: InferRequest;
      try {
        resolved = this.#resolvePart(request);
        const view = fit && this.#models.takeView(resolved.model, resolved.version);
        if (fit !== undefined && view !== undefined) resolved = fit(resolved, view);
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
    const holder = [...this.#retiring.closing, ...ready].find(
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
    checkedFor?: ServedModel,
  ): void {
    let model = this.#retiring.takeHolder(request) ?? this.#models.takeServed(request.model, request.version);
    const isServed = model !== undefined;
    let valid: ValidInferRequest;
    try {
      model ??= this.#models.mustKnow(request.model, request.version);
      if (checkedFor !== model && request.inputs.some(isLongTexts)) {
        this.#checkTexts(request, model, signal, reject, (rest) =>
          this.#infer(rest, signal, resolve, reject, isPart, attempts, model),
        );
        return;
      }
      valid = ValidInferRequest.from(request, model, checkedFor === model);
    } catch (error) {
      if (error instanceof InferenceError) {
        if (model === undefined) this.#observer.requestRefused(error.code);
        else this.#observers.of(model).requestRefused(error.code);
      }
      reject(error as InferenceError);
      return;
    }
    // A concurrent model asks others while it runs: what it needs comes as further requests, like a runner's.
    const runner = model.runner ?? (model.policy.isConcurrent || valid.isSplit ? this : undefined);
    if (!isServed) void this.#bringBack(request, valid, signal, resolve, reject, isPart, attempts);
    // The scheduler takes requests until no runner holds any, for they ask it for parts.
    else if (this.#isDraining && !isPart) {
      this.#observers.of(model).requestRefused('draining');
      reject(new InferenceError('draining', 'the server is shutting down; send the request to another one'));
    } else if (runner === undefined) this.#submit(valid, signal, resolve, reject);
    else this.#heldByRunners.run(runner, valid, signal).then(resolve, reject);
  }

  /** Looks at long BYTES tensors in slices; whoever goes away meanwhile is told, and the rest is not read. */
  #checkTexts(
    request: InferRequest,
    model: ServedModel,
    signal: CancelSignal,
    reject: Reject,
    goOn: (request: InferRequest) => void,
  ): void {
    const cameAt = this.#clock.now();
    const refuse = (error: unknown): void => {
      stopListening();
      if (error instanceof InferenceError) this.#observers.of(model).requestRefused(error.code);
      reject(error as InferenceError);
    };
    let stopListening = (): void => {};
    const stop = this.sliced.run(
      longTextSlices(request, model),
      () => {
        stopListening();
        goOn(afterWaiting(request, this.#clock.now() - cameAt));
      },
      refuse,
      request.caller,
    );
    stopListening = signal.onCancel((reason) => {
      stop();
      refuse(new InferenceError(reason, 'the request ended while its inputs were checked'));
    });
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
      if (error instanceof InferenceError) this.#observers.of(model).requestRefused(error.code);
      reject(error as InferenceError);
      return;
    }
    this.#infer(afterWaiting(request, this.#clock.now() - cameAt), signal, resolve, reject, isPart, attempts + 1);
  }

  /** By a place in the model's queue, whatever its runner; by several for more rows than a batch may have. */
  run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return request.isSplit ? this.#splitting.run(request, signal) : this.#enqueue(request, signal);
  }

  #enqueue(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
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
    this.#observers.of(request.model).requestAdmitted(request.bytes);
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
    this.#batches.attach(worker, link);
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
    this.#batches.workerGone(worker);
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
    this.#retiring.takeBack(model);
    this.#scheduler.handle({ kind: 'model-added', model: model.key, policy: model.policy }, this.#clock.now());
  }

  /** Requests of the model that wait for a batch, and that are under way. */
  workOf({ key }: ServedModel): { readonly waitingRequests: number; readonly runningRequests: number } {
    return { waitingRequests: this.#scheduler.waitingFor(key), runningRequests: this.#batches.requestsOf(key) };
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
    this.#retiring.add(model);
    if (model.runner?.close !== undefined) await this.#retiring.close(model);
    // What its runner holds still asks the queue for parts.
    const isSplitting = model.answersAnyRows && this.#heldByRunners.has(model.key);
    if (model.runner !== undefined || isSplitting) await this.#heldByRunners.idle(model.key);
    if (!this.#retiring.has(model)) return new Promise(() => {});
    return new Promise((resolve) => {
      this.#retiring.whenIdle(model, resolve);
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
    this.#batches.call(worker, message);
  }

  callCancelled(message: CallCancelledMessage): void {
    this.#batches.callCancelled(message);
  }

  batchAnswered(message: AnsweredMessage): void {
    const failure = this.#batches.beginAnswer(message);
    if (failure !== undefined) {
      this.batchFailed({ kind: 'failed', batch: message.batch, code: failure.code, message: failure.message });
      return;
    }
    this.#scheduler.handle({ kind: 'batch-answered', batch: message.batch }, this.#clock.now());
    this.#perform();
    this.#batches.endAnswer(message);
    this.#pumpSoon();
  }

  batchFailed(failure: FailedMessage): void {
    const { batch, code, message } = failure;
    this.#batches.failed(failure);
    this.#scheduler.handle({ kind: 'batch-failed', batch, code, message }, this.#clock.now());
    this.#pumpSoon();
  }

  /** Refuses new requests; resolves when the last one is answered. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    // Their parts are requests of the scheduler, which takes none once it drains.
    if (!this.#heldByRunners.isEmpty) await this.#heldByRunners.idle();
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
          this.#batches.dispatch(action);
          break;
        case 'deliver':
          this.#batches.deliver(action);
          break;
        case 'refuse':
          this.#batches.refuse(action.request, refusalFrom(action));
          break;
        case 'cancel-batch':
          this.#batches.cancel(action);
          break;
        case 'kill-worker':
          this.#batches.kill(action);
          break;
        case 'wake-at':
          this.#wakeAt(action.at);
          break;
        case 'model-idle':
          this.#retiring.idle(action.model);
          break;
        case 'drained':
          this.#onDrained?.();
          break;
      }
    }
    this.#batches.releaseHeld();
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
