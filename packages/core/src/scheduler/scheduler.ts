/**
 * Decides for one router which request runs where and when. Pure: events and the time go in, actions come out, and the
 * same events at the same times give the same actions. Budget: 3 µs a request for arrival, dispatch and answer together,
 * with 64 in flight (scheduler.bench.ts).
 */
import { assert } from '../assert.ts';
import type {
  ArrivedRequest,
  BatchId,
  ModelKey,
  RequestId,
  SchedulerAction,
  SchedulerEvent,
  WorkerId,
} from '../events.ts';
import type { QueuePolicy } from '../model-policy.ts';
import { ActionList } from './action-list.ts';
import {
  drainingRefusal,
  expiredRefusal,
  fullRefusal,
  hopelessRefusal,
  queueTimeoutRefusal,
  removedRefusal,
} from './admission.ts';
import type { Batch } from './batch.ts';
import { type CallerCount, CallerCounts } from './caller-counts.ts';
import { Dispatcher } from './dispatcher.ts';
import { Drain } from './drain.ts';
import type { InstanceEntry } from './instance-entry.ts';
import { InstanceRecords } from './instance-records.ts';
import type { ModelEntry } from './model-entry.ts';
import { ModelTable } from './model-table.ts';
import { noteDeath, partIn } from './poison-detection.ts';
import { ProbationClock } from './probation-clock.ts';
import type { Refusal } from './refusal.ts';
import type { RequestEntry } from './request-entry.ts';
import { RequestTable } from './request-table.ts';
import { isFaultOfWorker, noteRequeue, reactionTo } from './retry-policy.ts';
import { overdueReason, overdueRefusal, RunClock } from './run-clock.ts';
import { resolveSchedulerConfig, type SchedulerConfig, type SchedulerOptions } from './scheduler-config.ts';
import { type InstanceSnapshot, type QueueSnapshot, snapshotOf, snapshotOfQueue } from './snapshots.ts';
import { waitRefusal } from './wait-estimate.ts';
import { WakeUp } from './wake-up.ts';
import { WorkerTable } from './worker-table.ts';

export interface SchedulerCounts {
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  readonly runningRequests: number;
  readonly outstandingBatches: number;
  readonly workers: number;
  /** Those included that were removed and still have batches out. */
  readonly models: number;
}

export class Scheduler {
  readonly #config: SchedulerConfig;
  readonly #actions = new ActionList();
  readonly #requests = new RequestTable();
  readonly #models: ModelTable;
  readonly #callers = new CallerCounts();
  readonly #records: InstanceRecords;
  readonly #workers: WorkerTable;
  readonly #runClock = new RunClock();
  readonly #probation = new ProbationClock();
  readonly #drain = new Drain();
  readonly #wakeUp = new WakeUp();
  readonly #dispatcher: Dispatcher;
  /** Retired models that still have work. */
  #retired: ModelEntry[] = [];

  constructor(options: SchedulerOptions = {}) {
    this.#config = resolveSchedulerConfig(options);
    this.#models = new ModelTable(this.#config.modelsMax);
    this.#records = new InstanceRecords(this.#config.breaker, 2 * this.#config.workersMax);
    this.#workers = new WorkerTable(this.#records, this.#config.workersMax);
    this.#dispatcher = new Dispatcher({
      actions: this.#actions,
      requests: this.#requests,
      models: this.#models,
      workers: this.#workers,
      runClock: this.#runClock,
      drain: this.#drain,
      config: this.#config,
    });
  }

  /** Takes note of what happened. What waits is dispatched by `pump`, or earlier when a queue would overflow. */
  handle(event: SchedulerEvent, nowMs: number): void {
    switch (event.kind) {
      case 'request-arrived':
        this.#admit(event.request, nowMs);
        break;
      case 'batch-answered':
        this.#answered(event.batch, nowMs);
        break;
      case 'batch-failed':
        this.#failed(event.batch, event, nowMs);
        break;
      case 'request-cancelled':
        this.#cancelled(event.request, event.reason);
        break;
      case 'tick':
        this.#wakeUp.woken();
        this.#expire(nowMs);
        break;
      case 'worker-credit':
        this.#credited(event.worker, event.batchesMax, nowMs);
        break;
      case 'worker-serves':
        this.#serves(event, nowMs);
        break;
      case 'worker-unserves':
        this.#unserves(event.worker, event.model);
        break;
      case 'worker-gone':
        this.#gone(event.worker, nowMs);
        break;
      case 'breaker-closed':
        this.#closeBreakers(event.worker, nowMs);
        break;
      case 'model-added':
        this.#dispatcher.markCandidate(this.#models.add(event.model, event.policy));
        break;
      case 'model-retired':
        this.#modelRetired(event.model);
        break;
      case 'model-removed':
        this.#modelRemoved(event.model);
        break;
      case 'drain-started':
        this.#drain.start();
        break;
    }
  }

  /**
   * Gives every free worker what waits for it. To be called once after the events of a turn: requests that came in
   * together then share batches, and an idle worker waits no longer than the turn.
   */
  pump(nowMs: number): void {
    this.#expire(nowMs);
    this.#dispatcher.dispatchWaiting(nowMs, true);
    this.#tellIdle();
    const isEmpty = this.#requests.count === 0 && this.#dispatcher.outstandingCount === 0;
    if (this.#drain.isNowDone(isEmpty)) this.#actions.add({ kind: 'drained' });
    const dueAt = Math.min(
      this.#requests.deadlines.soonestAt,
      this.#runClock.lookAt,
      this.#probation.lookAt,
      this.#dispatcher.heldUntil,
    );
    const wakeAt = this.#wakeUp.takeTime(dueAt, nowMs);
    if (wakeAt !== undefined) this.#actions.add({ kind: 'wake-at', at: wakeAt });
  }

  /** The actions since the last call, in order. The array is used again: it is valid until the next call. */
  takeActions(): readonly SchedulerAction[] {
    return this.#actions.take();
  }

  counts(): SchedulerCounts {
    const { waiting } = this.#requests;
    return {
      waitingRequests: waiting.requestCount,
      waitingBytes: waiting.byteCount,
      runningRequests: this.#requests.count - waiting.requestCount,
      outstandingBatches: this.#dispatcher.outstandingCount,
      workers: this.#workers.count,
      models: this.#models.count,
    };
  }

  /** Whether anything of the model waits or runs. */
  isIdle(model: ModelKey): boolean {
    const known = this.#models.takeKnown(model);
    return known === undefined || (known.queue.requestCount === 0 && known.batchCount === 0);
  }

  /** Requests that wait for the model; 0 for one that is not known. */
  waitingFor(model: ModelKey): number {
    return this.#models.takeKnown(model)?.queue.requestCount ?? 0;
  }

  /** Every worker with each model that it serves. */
  instances(nowMs: number): readonly InstanceSnapshot[] {
    const snapshots: InstanceSnapshot[] = [];
    for (const { instances } of this.#workers.values()) {
      for (const instance of instances) snapshots.push(snapshotOf(instance, nowMs));
    }
    return snapshots;
  }

  /** What waits for each model that is served. */
  queues(): readonly QueueSnapshot[] {
    return [...this.#models.values()].filter(({ isRemoved }) => !isRemoved).map(snapshotOfQueue);
  }

  #admit(arrived: ArrivedRequest, nowMs: number): void {
    assert(arrived.rows >= 1, 'a request has at least one row');
    assert(!this.#requests.has(arrived.request), 'a request id is used once at a time');
    const model = this.#models.takeKnown(arrived.model);
    const hopeless = this.#drain.isOpen ? hopelessRefusal(arrived, model, this.#config, nowMs) : drainingRefusal;
    if (hopeless !== undefined || model === undefined) {
      assert(hopeless !== undefined, 'a request for an unknown model is hopeless');
      this.#refuse(arrived.request, hopeless);
      return;
    }
    const caller = this.#callers.entryOf(arrived.caller);
    let refusal = this.#refusalNow(arrived, model, caller, nowMs);
    if (refusal !== undefined) {
      // Full, or too long a wait, means that time has freed no place and no worker can take more: a burst within one
      // turn may be larger than a queue while workers are idle.
      this.#expire(nowMs);
      this.#dispatcher.dispatchWaiting(nowMs, false);
      refusal = this.#refusalNow(arrived, model, caller, nowMs);
      if (refusal?.code === 'wait-too-long' && hasRoom(model, arrived.priority)) refusal = undefined;
    }
    if (refusal !== undefined) {
      this.#refuse(arrived.request, refusal);
      return;
    }
    this.#requests.append(arrived, model, caller, nowMs);
    this.#dispatcher.markCandidate(model);
  }

  #refusalNow(arrived: ArrivedRequest, model: ModelEntry, caller: CallerCount, nowMs: number): Refusal | undefined {
    const full = fullRefusal(arrived, model, caller, this.#requests.waiting, this.#config);
    return full ?? waitRefusal(arrived, model, nowMs);
  }

  #answered(id: BatchId, nowMs: number): void {
    const batch = this.#dispatcher.takeEnded(id, nowMs);
    if (batch === undefined) return;
    this.#noteSuccess(batch, nowMs);
    if (batch.liveCount === 0) return;
    const isWhole = batch.liveCount === batch.entries.length;
    const { answerOrder } = batch.model;
    let live = batch.disband();
    if (!answerOrder.isEmpty) {
      for (const entry of live) if (answerOrder.has(entry)) entry.answeredIn = id;
      this.#deliverInOrder(batch.model);
      // Those that came before the model asked for an order.
      live = live.filter((entry) => entry.answeredIn === 0);
      if (live.length === 0) return;
    }
    for (const entry of live) this.#requests.settle(entry);
    const isAll = isWhole && live.length === batch.entries.length;
    const requests = isAll ? batch.requests : live.map((entry) => entry.request);
    this.#actions.add({ kind: 'deliver', batch: id, requests });
  }

  #deliverInOrder(model: ModelEntry): void {
    model.answerOrder.flush(this.#actions, (entry) => this.#requests.settle(entry));
  }

  #failed(id: BatchId, failure: Refusal, nowMs: number): void {
    const batch = this.#dispatcher.takeEnded(id, nowMs);
    if (batch === undefined) return;
    const { worker, model } = batch;
    const reaction = reactionTo(failure.code, this.#config.retry);
    // What is to be tried elsewhere was not run, and what is wrong with a request says nothing of who ran it.
    if (reaction === 'elsewhere' || !isFaultOfWorker(failure.code))
      batch.instance.breaker.noteNothing(batch.dispatchedAt);
    else this.#noteFailure(batch.instance, batch.dispatchedAt, nowMs);
    if (failure.code === 'unknown-model') this.#workers.unserve(worker, model);
    const wasShared = batch.entries.length > 1;
    this.#retryOrRefuse(batch, (entry) => {
      if (reaction === 'elsewhere') return noteRequeue(entry, this.#config.retry);
      entry.isAlone = true;
      return wasShared ? undefined : failure;
    });
  }

  #cancelled(request: RequestId, reason: 'cancelled' | 'deadline-exceeded'): void {
    const entry = this.#requests.takeKnown(request);
    if (entry === undefined) return;
    if (reason === 'deadline-exceeded') this.#expired(entry);
    else this.#abandon(entry, { code: 'cancelled', message: 'the caller cancelled the request' });
  }

  /** What time alone has changed. */
  #expire(nowMs: number): void {
    for (const { model } of this.#probation.due(this.#workers.values(), nowMs)) this.#dispatcher.markCandidate(model);
    const { deadlines } = this.#requests;
    for (let late = deadlines.takeExpired(nowMs); late !== undefined; late = deadlines.takeExpired(nowMs)) {
      if (late.deadlineAt <= nowMs) this.#expired(late);
      else this.#waitedTooLong(late);
    }
    for (const worker of this.#runClock.overdue(this.#workers.values(), nowMs)) {
      const batch = worker.condemn();
      for (const instance of worker.instances) this.#noteFailure(instance, nowMs, nowMs);
      this.#dispatcher.refreshCredit(worker);
      this.#actions.add({ kind: 'kill-worker', worker: worker.worker, reason: overdueReason(batch) });
    }
  }

  #expired(entry: RequestEntry): void {
    const isHeld = entry.answeredIn !== 0;
    const when = isHeld ? 'while the answer waited for earlier ones' : 'while the request ran';
    this.#abandon(entry, expiredRefusal(entry.isWaiting ? 'while the request waited' : when));
  }

  #waitedTooLong(entry: RequestEntry): void {
    const { timeoutAction } = entry.model.policy.queues[entry.level] as QueuePolicy;
    if (timeoutAction === 'delay') {
      this.#requests.delay(entry);
      this.#dispatcher.reviewHold(entry.model);
    } else {
      this.#abandon(entry, queueTimeoutRefusal(entry));
    }
  }

  /** Nobody waits for the request any more, wherever it is. */
  #abandon(entry: RequestEntry, refusal: Refusal): void {
    const { batch } = entry;
    if (entry.isWaiting) {
      this.#requests.leaveQueue(entry);
      this.#dispatcher.reviewHold(entry.model);
    } else if (batch !== undefined) {
      batch.leave(entry);
      // The batch stays on its worker's account until the worker has spoken.
      if (batch.liveCount === 0) {
        this.#actions.add({ kind: 'cancel-batch', batch: batch.id, worker: batch.worker.worker });
      }
    }
    this.#end(entry, refusal);
  }

  /** Refuses a request that is in no queue and no batch. Answers that waited for it may leave. */
  #end(entry: RequestEntry, refusal: Refusal): void {
    this.#requests.settle(entry);
    this.#refuse(entry.request, refusal);
    const { answerOrder } = entry.model;
    if (!answerOrder.has(entry)) return;
    answerOrder.remove(entry);
    this.#deliverInOrder(entry.model);
  }

  #credited(id: WorkerId, batchesMax: number, nowMs: number): void {
    const worker = this.#workers.entryOf(id, nowMs);
    // Written so that a count that is no number means none.
    worker.batchesMax = batchesMax >= 1 ? Math.min(Math.floor(batchesMax), this.#config.batchesPerWorkerMax) : 0;
    this.#dispatcher.refreshCredit(worker);
    // One that takes nothing any more may have been the only one that was trusted.
    for (const { model } of worker.instances) this.#dispatcher.markCandidate(model);
  }

  #serves(event: Extract<SchedulerEvent, { kind: 'worker-serves' }>, nowMs: number): void {
    const worker = this.#workers.entryOf(event.worker, nowMs);
    const model = this.#models.takeKnown(event.model);
    if (model === undefined || model.isRemoved) return;
    this.#probation.note(this.#workers.serve(worker, model, event.priorityMax));
    this.#dispatcher.markCandidate(model);
  }

  #unserves(id: WorkerId, key: ModelKey): void {
    const worker = this.#workers.takeKnown(id);
    const model = this.#models.takeKnown(key);
    if (worker === undefined || model === undefined) return;
    this.#workers.unserve(worker, model);
    this.#dispatcher.markCandidate(model);
  }

  #gone(id: WorkerId, nowMs: number): void {
    const worker = this.#workers.takeKnown(id);
    if (worker === undefined) return;
    // One that was killed for its run has been blamed for that already.
    if (!worker.isCondemned) for (const instance of worker.instances) this.#noteFailure(instance, nowMs, nowMs);
    const parts = worker.outstanding.map((batch) => partIn(worker, batch));
    this.#workers.remove(worker);
    for (const [index, batch] of worker.outstanding.entries()) {
      this.#dispatcher.forget(batch, worker.ranMs(batch, nowMs));
      this.#retryOrRefuse(batch, (entry) => {
        if (parts[index] === 'blamed') return noteDeath(entry, this.#config.retry);
        if (parts[index] === 'innocent') return noteRequeue(entry, this.#config.retry);
        return overdueRefusal(batch);
      });
    }
  }

  #noteSuccess(batch: Batch, nowMs: number): void {
    const { instance, model, rows, ranMs, dispatchedAt } = batch;
    const wasClosed = instance.breaker.isClosed;
    instance.breaker.noteSuccess(dispatchedAt, nowMs);
    if (!wasClosed) this.#dispatcher.markCandidate(model);
    if (ranMs <= 0) return;
    instance.speed.note(rows, ranMs);
    model.speed.note(rows, ranMs);
    // One that serves the model no more counts for nothing in what the model does.
    if (instance.isServing) model.throughput.measure(instance, model.batchRowsMax);
    model.adaptive?.noteBatch(rows, nowMs - dispatchedAt, nowMs);
  }

  #noteFailure(instance: InstanceEntry, dispatchedAt: number, nowMs: number): void {
    instance.breaker.noteFailure(instance.peersFailureShare(nowMs), dispatchedAt, nowMs);
    this.#probation.note(instance);
    this.#dispatcher.markCandidate(instance.model);
  }

  #closeBreakers(id: WorkerId, nowMs: number): void {
    for (const { breaker, model } of this.#workers.takeKnown(id)?.instances ?? []) {
      breaker.close(nowMs);
      this.#dispatcher.markCandidate(model);
    }
  }

  #modelRetired(key: ModelKey): void {
    const model = this.#models.takeKnown(key);
    if (model?.isRetired) return;
    if (model === undefined) {
      this.#actions.add({ kind: 'model-idle', model: key });
      return;
    }
    model.isRetired = true;
    this.#retired.push(model);
    this.#dispatcher.markCandidate(model);
  }

  #tellIdle(): void {
    if (this.#retired.length === 0) return;
    this.#retired = this.#retired.filter((model) => {
      if (!model.isRetired) return false;
      const isIdle = model.queue.requestCount === 0 && model.batchCount === 0;
      if (isIdle) this.#actions.add({ kind: 'model-idle', model: model.key });
      return !isIdle;
    });
  }

  #modelRemoved(key: ModelKey): void {
    const model = this.#models.takeKnown(key);
    if (model === undefined || model.isRemoved) return;
    model.isRemoved = true;
    for (const { worker } of [...model.instances]) this.#workers.unserve(worker, model);
    this.#records.forgetModel(key);
    const refusal = removedRefusal(model);
    for (let { head } = model.queue; head !== undefined; { head } = model.queue) this.#abandon(head, refusal);
    this.#models.forgetIfOver(model);
  }

  /** Returns who still waited for the batch to the queue, save those that `verdict` refuses. */
  #retryOrRefuse(batch: Batch, verdict: (entry: RequestEntry) => Refusal | undefined): void {
    const { model } = batch;
    const retried: RequestEntry[] = [];
    for (const entry of batch.disband()) {
      const refusal = verdict(entry) ?? (model.isRemoved ? removedRefusal(model) : undefined);
      if (refusal === undefined) retried.push(entry);
      else this.#end(entry, refusal);
    }
    this.#requests.putBack(model, retried);
    this.#dispatcher.markCandidate(model);
  }

  #refuse(request: RequestId, refusal: Refusal): void {
    const { code, message, retryAfterMs } = refusal;
    if (retryAfterMs === undefined) this.#actions.add({ kind: 'refuse', request, code, message });
    else this.#actions.add({ kind: 'refuse', request, code, message, retryAfterMs });
  }
}

/** Whether some instance could take a request of this priority at once. */
function hasRoom(model: ModelEntry, priority: number): boolean {
  const level = model.queue.levelIndexOf(priority);
  return model.instances.some((instance) => instance.worker.hasCredit && instance.takesLevel(level));
}
