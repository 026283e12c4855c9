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
import { ActionList } from './action-list.ts';
import type { Batch } from './batches/batch.ts';
import { BatchOutcomes } from './batches/batch-outcomes.ts';
import { overdueReason, RunClock } from './batches/run-clock.ts';
import { UnreadRuns, unreadRefusal } from './batches/unread-runs.ts';
import { Dispatcher } from './dispatcher.ts';
import { Drain } from './drain.ts';
import { InstanceRecords } from './instances/instance-records.ts';
import { ProbationClock } from './instances/probation-clock.ts';
import { WorkerTable } from './instances/worker-table.ts';
import type { ModelEntry } from './models/model-entry.ts';
import { ModelTable } from './models/model-table.ts';
import { RetiredModels } from './models/retired-models.ts';
import { Admission } from './queues/admission.ts';
import { CallerCounts } from './queues/caller-counts.ts';
import { drainingRefusal, lostWithModelRefusal, unservedRefusal } from './requests/refusals.ts';
import { RequestEndings } from './requests/request-endings.ts';
import { RequestTable } from './requests/request-table.ts';
import { resolveSchedulerConfig, type SchedulerConfig, type SchedulerOptions } from './scheduler-config.ts';
import { type InstanceSnapshot, type QueueSnapshot, snapshotOf, snapshotOfQueue } from './snapshots.ts';
import { WakeUp } from './wake-up.ts';

export interface SchedulerCounts {
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  readonly runningRequests: number;
  readonly outstandingBatches: number;
  readonly workers: number;
  /** Includes models that were removed with batches still in flight. */
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
  readonly #unreadRuns = new UnreadRuns();
  readonly #probation = new ProbationClock();
  readonly #drain = new Drain();
  readonly #retired = new RetiredModels();
  readonly #takeKnown = (key: ModelKey): ModelEntry | undefined => this.#models.takeKnown(key);
  readonly #wakeUp = new WakeUp();
  readonly #dispatcher: Dispatcher;
  readonly #admission: Admission;
  readonly #endings: RequestEndings;
  readonly #outcomes: BatchOutcomes;

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
      unreadRuns: this.#unreadRuns,
      drain: this.#drain,
      config: this.#config,
    });
    this.#admission = new Admission({
      totals: this.#requests.waiting,
      config: this.#config,
      makeRoom: (nowMs) => {
        this.#expire(nowMs);
        this.#dispatcher.dispatchWaiting(nowMs, false);
      },
    });
    this.#endings = new RequestEndings(this.#actions, this.#requests, this.#dispatcher);
    this.#outcomes = new BatchOutcomes({
      actions: this.#actions,
      requests: this.#requests,
      workers: this.#workers,
      probation: this.#probation,
      dispatcher: this.#dispatcher,
      endings: this.#endings,
      config: this.#config,
    });
  }

  /** Records what happened. Waiting requests are dispatched by `pump`, or earlier when a queue would overflow. */
  handle(event: SchedulerEvent, nowMs: number): void {
    switch (event.kind) {
      case 'request-arrived':
        this.admit(event.request, nowMs);
        break;
      case 'batch-answered':
        this.#outcomes.answered(event.batch, nowMs);
        break;
      case 'batch-progressed':
        this.#outcomes.progressed(event.batch, nowMs);
        break;
      case 'batch-credit':
        this.#callerCredited(event.batch, event.hasCredit, nowMs);
        break;
      case 'batch-failed':
        this.#outcomes.failed(event.batch, event, nowMs);
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
        this.#outcomes.workerGone(event.worker, event.isKilled, nowMs);
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
   * The event `request-arrived`, as a call: it comes for every request, and an event object for each would be garbage.
   */
  admit(arrived: ArrivedRequest, nowMs: number): void {
    assert(arrived.rows >= 1, 'a request has at least one row');
    assert(!this.#requests.has(arrived.request), 'a request id is used once at a time');
    const model = this.#models.takeKnown(arrived.model);
    if (model === undefined || !this.#drain.isOpen) {
      this.#endings.refuse(arrived.request, this.#drain.isOpen ? unservedRefusal(arrived.model) : drainingRefusal);
      return;
    }
    const level = model.queue.levelIndexOf(arrived.priority);
    const caller = this.#callers.entryOf(arrived.caller);
    const refusal = this.#admission.refusalOf(arrived, model, level, caller, nowMs);
    if (refusal !== undefined) {
      this.#endings.refuse(arrived.request, refusal);
      return;
    }
    this.#requests.append(arrived, model, level, caller, nowMs);
    this.#dispatcher.markCandidate(model);
  }

  /**
   * Dispatches waiting requests to every free worker. Call it once after the events of a turn: requests that arrived
   * together then share batches, and an idle worker waits no longer than the turn.
   */
  pump(nowMs: number): void {
    this.#expire(nowMs);
    this.#dispatcher.dispatchWaiting(nowMs, true);
    for (const batch of this.#unreadRuns.takeDue(nowMs)) this.#endUnread(batch);
    this.#retired.tellIdle(this.#actions, this.#takeKnown);
    const isEmpty = this.#requests.count === 0 && this.#dispatcher.outstandingCount === 0;
    if (this.#drain.isNowDone(isEmpty)) this.#actions.add({ kind: 'drained' });
    const dueAt = Math.min(
      this.#requests.deadlines.soonestAt,
      this.#runClock.checkAt,
      this.#probation.checkAt,
      this.#unreadRuns.checkAt,
      this.#dispatcher.heldUntil,
    );
    const wakeAt = this.#wakeUp.takeTime(dueAt, nowMs);
    if (wakeAt !== undefined) this.#actions.add({ kind: 'wake-at', at: wakeAt });
  }

  /** The actions since the last call, in order. The array is reused: it is valid until the next call. */
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

  /** Requests that wait for the model; 0 for an unknown one. */
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

  #cancelled(request: RequestId, reason: 'cancelled' | 'deadline-exceeded'): void {
    const entry = this.#requests.takeKnown(request);
    if (entry === undefined) return;
    if (reason === 'deadline-exceeded') this.#endings.expired(entry);
    else this.#endings.abandon(entry, { code: 'cancelled', message: 'the caller cancelled the request' });
  }

  /** Handles what is due by time alone. */
  #expire(nowMs: number): void {
    for (const { model } of this.#probation.due(this.#workers.values(), nowMs)) this.#dispatcher.markCandidate(model);
    const { deadlines } = this.#requests;
    for (let late = deadlines.takeExpired(nowMs); late !== undefined; late = deadlines.takeExpired(nowMs)) {
      if (late.deadlineAt <= nowMs) this.#endings.expired(late);
      else this.#endings.waitedTooLong(late);
    }
    for (const worker of this.#runClock.overdue(this.#workers.values(), nowMs)) {
      const batch = worker.condemn(nowMs);
      for (const instance of worker.instances) this.#outcomes.noteFailure(instance, nowMs, nowMs);
      this.#dispatcher.refreshCredit(worker);
      this.#actions.add({ kind: 'kill-worker', worker: worker.worker, reason: overdueReason(batch) });
    }
  }

  #callerCredited(batch: BatchId, hasCredit: boolean, nowMs: number): void {
    const credited = this.#outcomes.credited(batch, hasCredit, nowMs);
    if (credited === undefined) return;
    this.#runClock.note(credited.worker);
    this.#unreadRuns.note(credited, hasCredit);
  }

  #endUnread(batch: Batch): void {
    const refusal = unreadRefusal(batch);
    for (const entry of batch.entries.filter((one) => batch.isIn(one))) this.#endings.abandon(entry, refusal);
  }

  #credited(id: WorkerId, batchesMax: number, nowMs: number): void {
    const worker = this.#workers.entryOf(id, nowMs);
    // Written so that NaN means none.
    worker.batchesMax = batchesMax >= 1 ? Math.min(Math.floor(batchesMax), this.#config.batchesPerWorkerMax) : 0;
    this.#dispatcher.refreshCredit(worker);
    // A worker that accepts nothing any more may have had the only closed instance.
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

  #closeBreakers(id: WorkerId, nowMs: number): void {
    for (const { breaker, model } of this.#workers.takeKnown(id)?.instances ?? []) {
      breaker.close(nowMs);
      this.#dispatcher.markCandidate(model);
    }
  }

  #modelRetired(key: ModelKey): void {
    const model = this.#models.takeKnown(key);
    if (model === undefined) this.#actions.add({ kind: 'model-idle', model: key });
    else if (this.#retired.add(model)) this.#dispatcher.markCandidate(model);
  }

  #modelRemoved(key: ModelKey): void {
    const model = this.#models.takeKnown(key);
    if (model === undefined || model.isRemoved) return;
    model.isRemoved = true;
    for (const { worker } of [...model.instances]) this.#workers.unserve(worker, model);
    this.#records.forgetModel(key);
    for (let { head } = model.queue; head !== undefined; { head } = model.queue)
      this.#endings.abandon(head, lostWithModelRefusal(head));
    this.#models.forgetIfOver(model);
  }
}
