/**
 * Drives the scheduler: turns requests and worker messages into its events, and carries out the actions that it returns.
 * It decides nothing itself.
 */
import type { InstanceSnapshot, QueueSnapshot, Scheduler, SchedulerAction, WorkerId } from '@millrace/core';
import {
  type AnsweredMessage,
  type CallCancelledMessage,
  type CallMessage,
  type CancelReason,
  type FailedMessage,
  InferenceError,
  neverCancelled,
  type PartialAnswerMessage,
  type WorkerLink,
} from '@millrace/protocol';
import { ArrivingInputs, type InputMemory } from './arriving-inputs.ts';
import type { Clock } from './clock.ts';
import type { ModelObservers } from './model-observers.ts';
import { type PendingObserver, PendingRequest, PendingRequests } from './pending-requests.ts';
import type { RetiringModels } from './retiring-models.ts';
import type { ServedModel } from './served-model.ts';
import type { ValidInferRequest } from './valid-request.ts';
import type { Waiter } from './waiter.ts';
import type { WorkInspection } from './work-inspection.ts';
import { WorkerBatches, type WorkerBatchesParts } from './worker-batches.ts';
import type { WorkerEvents } from './worker-events.ts';

/** The part of a scheduler that the loop drives. */
export type DrivenScheduler = Pick<
  Scheduler,
  'admit' | 'handle' | 'pump' | 'takeActions' | 'instances' | 'queues' | 'waitingFor' | 'isIdle'
>;

export interface SchedulerLoopParts
  extends Pick<WorkerBatchesParts, 'infer' | 'moveToSuccessor' | 'onSharingStopped' | 'sliced' | 'heldAnswerBytesMax'> {
  readonly scheduler: DrivenScheduler;
  readonly clock: Clock;
  readonly observers: ModelObservers;
  /** Told when a retiring model is idle. */
  readonly retiring: RetiringModels;
  readonly pendingObserver?: PendingObserver | undefined;
}

export class SchedulerLoop implements WorkerEvents, WorkInspection {
  readonly #scheduler: DrivenScheduler;
  readonly #clock: Clock;
  readonly #observers: ModelObservers;
  readonly #retiring: RetiringModels;
  readonly #pending: PendingRequests;
  readonly #batches: WorkerBatches;
  readonly #arriving = new ArrivingInputs((worker) => this.#batches.linkOf(worker));
  /**
   * The time of the first event in this turn of the event loop: reading the clock for each request would be too slow.
   * Undefined: no event yet.
   */
  #turnAt: number | undefined;
  #cancelWake: (() => void) | undefined;
  #onDrained: (() => void) | undefined;

  constructor({ scheduler, clock, observers, retiring, pendingObserver, ...rest }: SchedulerLoopParts) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.#observers = observers;
    this.#retiring = retiring;
    this.#pending = new PendingRequests(pendingObserver);
    const onSkipped = (message: FailedMessage): void => this.batchFailed(message);
    const onCredit = (batch: number, hasCredit: boolean): void => this.#credited(batch, hasCredit);
    this.#batches = new WorkerBatches({ ...rest, pending: this.#pending, observers, clock, onSkipped, onCredit });
  }

  /** Puts the request into its model's queue. */
  submit(request: ValidInferRequest, waiter: Waiter): void {
    const now = this.#pumpSoon();
    if (request.model.usedAt !== now) request.model.usedAt = now;
    const pending = new PendingRequest(request, waiter, now);
    this.#pending.add(pending);
    this.#observers.of(request.model).requestAdmitted(request.bytes);
    this.#scheduler.admit(pending, now);
    const { signal } = waiter;
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

  /** Where the inputs of a request for the model may be received; undefined: in any memory. */
  inputMemoryFor(model: ServedModel): InputMemory | undefined {
    return this.#arriving.memoryFor(model);
  }

  attach(worker: WorkerId, link: WorkerLink): void {
    this.#batches.attach(worker, link);
  }

  workerCredit(worker: WorkerId, batchesMax: number): void {
    this.#scheduler.handle({ kind: 'worker-credit', worker, batchesMax }, this.#clock.now());
    this.#pumpSoon();
  }

  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void {
    const now = this.#clock.now();
    this.#arriving.serves(worker, model);
    this.#scheduler.handle({ kind: 'worker-serves', worker, model: model.key, priorityMax }, now);
    this.#pumpSoon();
  }

  workerUnserves(worker: WorkerId, model: ServedModel): void {
    // The worker may be told to end next: batches that it was chosen for are sent before.
    this.#perform();
    this.#arriving.unserves(worker, model);
    this.#scheduler.handle({ kind: 'worker-unserves', worker, model: model.key }, this.#clock.now());
    this.#pumpSoon();
  }

  runningModel(worker: WorkerId): ServedModel | undefined {
    return this.#batches.runningModel(worker);
  }

  workerGone(worker: WorkerId, isKilled: boolean): void {
    // The scheduler relies on this order: its earlier actions for the worker are carried out before it is told of the exit.
    this.#perform();
    this.#batches.workerGone(worker);
    this.#arriving.gone(worker);
    this.#scheduler.handle({ kind: 'worker-gone', worker, isKilled }, this.#clock.now());
    this.#pumpSoon();
  }

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

  batchProgressed(message: PartialAnswerMessage): void {
    this.#scheduler.handle({ kind: 'batch-progressed', batch: message.batch }, this.#clock.now());
    this.#batches.partialAnswer(message);
    this.#pumpSoon();
  }

  /** May be called while the scheduler's decisions are carried out: it is told in a later turn. */
  #credited(batch: number, hasCredit: boolean): void {
    this.#clock.endOfTurn(() => {
      this.#scheduler.handle({ kind: 'batch-credit', batch, hasCredit }, this.#clock.now());
      this.#pumpSoon();
    });
  }

  batchFailed(failure: FailedMessage): void {
    const { batch, code, message } = failure;
    this.#batches.failed(failure);
    this.#scheduler.handle({ kind: 'batch-failed', batch, code, message }, this.#clock.now());
    this.#pumpSoon();
  }

  instances(): readonly InstanceSnapshot[] {
    return this.#scheduler.instances(this.#clock.now());
  }

  queues(): readonly QueueSnapshot[] {
    return this.#scheduler.queues();
  }

  workOf({ key }: ServedModel): { readonly waitingRequests: number; readonly runningRequests: number } {
    return { waitingRequests: this.#scheduler.waitingFor(key), runningRequests: this.#batches.requestsOf(key) };
  }

  closeBreaker(worker: WorkerId): void {
    this.#scheduler.handle({ kind: 'breaker-closed', worker }, this.#clock.now());
    this.#pumpSoon();
  }

  addModel({ key, policy }: ServedModel): void {
    this.#scheduler.handle({ kind: 'model-added', model: key, policy }, this.#clock.now());
  }

  /** The model gets no new requests; `RetiringModels` is told when none of its requests waits or runs any more. */
  retireModel({ key }: ServedModel): void {
    this.#scheduler.handle({ kind: 'model-retired', model: key }, this.#clock.now());
    this.#pumpSoon();
  }

  removeModel({ key }: ServedModel): void {
    this.#scheduler.handle({ kind: 'model-removed', model: key }, this.#clock.now());
    this.#pumpSoon();
  }

  isIdle({ key }: ServedModel): boolean {
    return this.#scheduler.isIdle(key);
  }

  /** Refuses new requests; resolves when the last one is answered. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.#scheduler.handle({ kind: 'drain-started' }, this.#clock.now());
      this.#pumpSoon();
    });
  }

  /** Schedules the forming of batches, once per turn of the event loop, from all its events. Returns the time of the turn. */
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

function refusalFrom(action: Extract<SchedulerAction, { kind: 'refuse' }>): InferenceError {
  const { code, message, retryAfterMs, hasKilledWorker } = action;
  if (hasKilledWorker === true) {
    // Durable streams count such deaths: they would ask again for ever.
    const cause = new InferenceError('worker-lost', 'a worker died while it ran this request alone');
    return new InferenceError(code, message, { cause });
  }
  return new InferenceError(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs });
}
