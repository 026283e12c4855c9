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
import { Dispatcher } from './dispatcher.ts';
import { Drain } from './drain.ts';
import type { ModelEntry } from './model-entry.ts';
import { ModelTable } from './model-table.ts';
import { noteDeath, partIn } from './poison-detection.ts';
import type { Refusal } from './refusal.ts';
import type { RequestEntry } from './request-entry.ts';
import { RequestTable } from './request-table.ts';
import { noteRequeue, reactionTo } from './retry-policy.ts';
import { overdueReason, overdueRefusal, RunClock } from './run-clock.ts';
import { resolveSchedulerConfig, type SchedulerConfig, type SchedulerOptions } from './scheduler-config.ts';
import { WakeUp } from './wake-up.ts';
import { WorkerHealth } from './worker-health.ts';
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
  readonly #health: WorkerHealth;
  readonly #workers: WorkerTable;
  readonly #runClock = new RunClock();
  readonly #drain = new Drain();
  readonly #wakeUp = new WakeUp();
  readonly #dispatcher: Dispatcher;
  /** Retired models that still have work. */
  #retired: ModelEntry[] = [];

  constructor(options: SchedulerOptions = {}) {
    this.#config = resolveSchedulerConfig(options);
    this.#models = new ModelTable(this.#config.modelsMax);
    this.#health = new WorkerHealth(this.#config.health, 2 * this.#config.workersMax);
    this.#workers = new WorkerTable(this.#health, this.#config.workersMax);
    this.#dispatcher = new Dispatcher({
      actions: this.#actions,
      requests: this.#requests,
      models: this.#models,
      workers: this.#workers,
      health: this.#health,
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
        this.#serves(event.worker, event.model, nowMs);
        break;
      case 'worker-unserves':
        this.#unserves(event.worker, event.model);
        break;
      case 'worker-gone':
        this.#gone(event.worker, nowMs);
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
    const dueAt = Math.min(this.#requests.deadlines.soonestAt, this.#runClock.lookAt, this.#dispatcher.heldUntil);
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
    let full = fullRefusal(arrived, model, this.#requests.waiting, this.#config);
    if (full !== undefined) {
      // Full means that time has freed no place and no worker can take more: a burst within one turn may be larger
      // than a queue while workers are idle.
      this.#expire(nowMs);
      this.#dispatcher.dispatchWaiting(nowMs, false);
      full = fullRefusal(arrived, model, this.#requests.waiting, this.#config);
    }
    if (full !== undefined) {
      this.#refuse(arrived.request, full);
      return;
    }
    this.#requests.append(arrived, model, nowMs);
    this.#dispatcher.markCandidate(model);
  }

  #answered(id: BatchId, nowMs: number): void {
    const batch = this.#dispatcher.takeEnded(id, nowMs);
    if (batch === undefined || batch.liveCount === 0) return;
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
    if (failure.code === 'unknown-model') this.#workers.unserve(worker, model);
    if (failure.code !== 'cancelled') this.#health.noteFailedBatch(worker.health, nowMs);
    const reaction = reactionTo(failure.code, this.#config.retry);
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

  #expire(nowMs: number): void {
    const { deadlines } = this.#requests;
    for (let late = deadlines.takeExpired(nowMs); late !== undefined; late = deadlines.takeExpired(nowMs)) {
      if (late.deadlineAt <= nowMs) this.#expired(late);
      else this.#waitedTooLong(late);
    }
    for (const worker of this.#runClock.overdue(this.#workers.values(), nowMs)) {
      const batch = worker.condemn();
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
  }

  #serves(id: WorkerId, key: ModelKey, nowMs: number): void {
    const worker = this.#workers.entryOf(id, nowMs);
    const model = this.#models.takeKnown(key);
    if (model === undefined || model.isRemoved) return;
    this.#workers.serve(worker, model);
    this.#dispatcher.markCandidate(model);
  }

  #unserves(id: WorkerId, key: ModelKey): void {
    const worker = this.#workers.takeKnown(id);
    const model = this.#models.takeKnown(key);
    if (worker !== undefined && model !== undefined) this.#workers.unserve(worker, model);
  }

  #gone(id: WorkerId, nowMs: number): void {
    const worker = this.#workers.takeKnown(id);
    if (worker === undefined) return;
    this.#health.noteDeath(worker.health, nowMs);
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
    for (const worker of [...model.workers]) this.#workers.unserve(worker, model);
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
    this.#actions.add({ kind: 'refuse', request, code: refusal.code, message: refusal.message });
  }
}
