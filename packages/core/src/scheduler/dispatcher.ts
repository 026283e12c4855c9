import { IdMap } from '@millrace/protocol';
import type { BatchId } from '../events.ts';
import type { ActionList } from './action-list.ts';
import { Batch } from './batches/batch.ts';
import { takeBatch } from './batches/batch-formation.ts';
import { decideHold } from './batches/batch-hold.ts';
import { takeRun } from './batches/run-choice.ts';
import type { RunClock } from './batches/run-clock.ts';
import type { UnreadRuns } from './batches/unread-runs.ts';
import type { Drain } from './drain.ts';
import { chooseInstance } from './instances/instance-choice.ts';
import type { InstanceEntry } from './instances/instance-entry.ts';
import type { WorkerEntry } from './instances/worker-entry.ts';
import type { WorkerTable } from './instances/worker-table.ts';
import type { ModelEntry } from './models/model-entry.ts';
import type { ModelTable } from './models/model-table.ts';
import type { RequestEntry } from './requests/request-entry.ts';
import type { RequestTable } from './requests/request-table.ts';
import type { SchedulerConfig } from './scheduler-config.ts';

/** What the dispatcher reads and writes; all of it belongs to the scheduler. */
export interface DispatcherParts {
  readonly actions: ActionList;
  readonly requests: RequestTable;
  readonly models: ModelTable;
  readonly workers: WorkerTable;
  readonly runClock: RunClock;
  readonly unreadRuns: UnreadRuns;
  readonly drain: Drain;
  readonly config: SchedulerConfig;
}

/** Matches waiting requests with free workers, and tracks the batches in flight. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #batches = new IdMap<Batch>();
  /** Models for which something changed since the last dispatch: only these can have work for a free worker. */
  readonly #candidates: ModelEntry[] = [];
  /** Models whose next batch is held back. */
  #held: ModelEntry[] = [];
  #batchCount = 0;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  get outstandingCount(): number {
    return this.#batches.size;
  }

  /** When the next held batch must be dispatched. */
  get heldUntil(): number {
    let until = Number.POSITIVE_INFINITY;
    for (const model of this.#held) until = Math.min(until, model.heldUntil);
    return until;
  }

  /** Call it when the model gets new requests or workers. */
  markCandidate(model: ModelEntry): void {
    if (model.isCandidate || model.queue.requestCount === 0) return;
    model.isCandidate = true;
    this.#candidates.push(model);
  }

  /** Call it when the queue changed otherwise: there may be no reason any more to hold the rest back. */
  reviewHold(model: ModelEntry): void {
    // The last suspect of a concurrent model may have left.
    if (model.heldUntil !== Number.POSITIVE_INFINITY || model.policy.isConcurrent) this.markCandidate(model);
  }

  /** Call it after anything that may change a worker's room. True when it has room again: its models are candidates. */
  refreshCredit(worker: WorkerEntry): boolean {
    if (!this.#parts.workers.refresh(worker)) return false;
    for (const { model } of worker.instances) this.markCandidate(model);
    return true;
  }

  /**
   * Afterwards no worker with room serves a model with waiting requests, except for batches that are held back by their
   * model's policy (with `mayHold` false none is), and requests of callers that are at their limit there.
   */
  dispatchWaiting(nowMs: number, mayHold: boolean): void {
    if (this.#held.length > 0) this.#release(nowMs, mayHold);
    const candidates = this.#candidates;
    const { workers } = this.#parts;
    while (candidates.length > 0 && workers.freeCount > 0) {
      const model = this.#nextModel(nowMs);
      const instance = model.queue.requestCount === 0 ? undefined : chooseInstance(model, nowMs);
      const entries = instance && this.#takeEntries(instance, nowMs, mayHold);
      if (instance === undefined || entries === undefined) this.#strikeOff(model);
      else {
        model.share.setContended(this.#isContended(instance));
        this.#dispatch(instance, entries, nowMs);
      }
    }
    // No worker has room for the rest. They are candidates again when one has.
    for (const model of candidates) model.isCandidate = false;
    candidates.length = 0;
  }

  /** Undefined: it has ended, or never existed. */
  takeOutstanding(id: BatchId): Batch | undefined {
    return this.#batches.get(id);
  }

  /** Removes the batch of that id from its worker; undefined when it is not in flight, so that nothing counts twice. */
  takeEnded(id: BatchId, nowMs: number): Batch | undefined {
    const batch = this.#batches.get(id);
    if (batch === undefined) return undefined;
    batch.ranMs = batch.worker.ranMs(batch, nowMs);
    this.forget(batch, batch.ranMs);
    batch.worker.end(batch, nowMs);
    this.#parts.runClock.note(batch.worker);
    const isRoomNew = this.refreshCredit(batch.worker);
    // Its caller may begin another run now.
    if (batch.model.limitsCallers) this.markCandidate(batch.model);
    if (!isRoomNew && batch.worker.outstanding.length === 0) this.#markSuspected(batch.worker);
    return batch;
  }

  /** Their suspects waited for a worker that runs nothing. */
  #markSuspected(worker: WorkerEntry): void {
    for (const { model } of worker.instances) if (model.queue.isSuspectNext) this.markCandidate(model);
  }

  /** The batch is no longer in flight; `ranMs`: the worker time it used. */
  forget(batch: Batch, ranMs: number): void {
    this.#batches.delete(batch.id);
    this.#parts.unreadRuns.forget(batch);
    batch.model.batchCount -= 1;
    batch.model.outstandingRows -= batch.rows;
    batch.model.share.settle(batch.chargedMs, ranMs, batch.rows);
    this.#parts.models.forgetIfOver(batch.model);
  }

  /** Makes candidates of the models whose batch is no longer held back. */
  #release(nowMs: number, mayHold: boolean): void {
    this.#held = this.#held.filter((model) => {
      if (mayHold && model.heldUntil > nowMs && model.queue.requestCount > 0 && this.#parts.drain.isOpen) return true;
      model.heldUntil = Number.POSITIVE_INFINITY;
      this.markCandidate(model);
      return false;
    });
  }

  #hold(model: ModelEntry, until: number): void {
    if (model.heldUntil === Number.POSITIVE_INFINITY) this.#held.push(model);
    model.heldUntil = until;
  }

  /** The candidate whose first request has waited longest, among those with worker time left in their share. */
  #nextModel(nowMs: number): ModelEntry {
    const candidates = this.#candidates;
    const [only] = candidates;
    if (only !== undefined && candidates.length === 1) return only;
    return oldestInCredit(candidates) ?? this.#addRounds(nowMs);
  }

  /** Whether another model wants the same worker now, so that this one uses it at the other's expense. */
  #isContended({ model, worker }: InstanceEntry): boolean {
    for (const other of this.#candidates) {
      if (other === model || other.queue.requestCount === 0) continue;
      if (other.instances.some((instance) => instance.worker === worker)) return true;
    }
    return false;
  }

  /** Starts new rounds for all that have used up their share; returns the first model with share left. */
  #addRounds(nowMs: number): ModelEntry {
    const candidates = this.#candidates;
    // Only models that could use a worker now take part in the new rounds; others would save up.
    const quantumMs = this.#parts.config.modelQuantumMs;
    const able = candidates.filter((model) => model.queue.requestCount > 0 && chooseInstance(model, nowMs));
    const rounds = Math.min(...able.map((model) => model.share.roundsToCredit(quantumMs)));
    for (const model of able) model.share.addRounds(rounds, quantumMs);
    return oldestInCredit(able) ?? (candidates[0] as ModelEntry);
  }

  #strikeOff(model: ModelEntry): void {
    const candidates = this.#candidates;
    model.isCandidate = false;
    const last = candidates.pop() as ModelEntry;
    if (last !== model) candidates[candidates.indexOf(model)] = last;
  }

  /** The next batch of a model for which something waits; undefined when it is held back. */
  #takeEntries(instance: InstanceEntry, nowMs: number, mayHold: boolean): RequestEntry[] | undefined {
    const { model, worker, priorityMax } = instance;
    const { queue, policy } = model;
    const { requests, drain, config } = this.#parts;
    let entries: RequestEntry[];
    if (model.limitsCallers) {
      const entry = takeRun(queue, ({ caller }) => worker.isOpenTo(caller, policy.callerRunsMax), priorityMax);
      if (entry === undefined) return undefined;
      requests.noteTaken([entry]);
      return [entry];
    }
    // Nothing is held back for a model that gets no new requests, nor on an instance reserved for urgent ones.
    const isForAll = priorityMax >= queue.levels.length;
    if (policy.delayMs > 0 && isForAll && mayHold && drain.isOpen && !model.isRetired) {
      const decision = decideHold(queue, policy, config.lookAheadMax, nowMs);
      if (decision.kind === 'wait') {
        this.#hold(model, decision.until);
        return undefined;
      }
      if (decision.kind === 'take-these') {
        entries = decision.entries;
        for (const entry of entries) queue.remove(entry);
      } else {
        entries = takeBatch(queue, decision.rowsMax, config.lookAheadMax);
      }
    } else {
      entries = takeBatch(queue, model.batchRowsMax, config.lookAheadMax, priorityMax);
    }
    requests.noteTaken(entries);
    return entries;
  }

  #dispatch(instance: InstanceEntry, entries: RequestEntry[], nowMs: number): void {
    const { model, worker } = instance;
    const { actions, runClock } = this.#parts;
    this.#batchCount += 1;
    const batch = new Batch(this.#batchCount, instance, entries, nowMs);
    this.#batches.set(batch.id, batch);
    model.batchCount += 1;
    model.outstandingRows += batch.rows;
    instance.breaker.noteDispatch(nowMs);
    worker.begin(batch, nowMs);
    runClock.note(worker);
    this.refreshCredit(worker);
    actions.add({
      kind: 'dispatch',
      batch: batch.id,
      worker: worker.worker,
      model: model.key,
      requests: batch.requests,
    });
  }
}

function oldestInCredit(models: readonly ModelEntry[]): ModelEntry | undefined {
  let best: ModelEntry | undefined;
  let bestArrival = Number.POSITIVE_INFINITY;
  for (const model of models) {
    if (!model.share.isInCredit) continue;
    // One without any comes first, so that it is removed.
    const arrival = model.queue.head?.arrival ?? -1;
    if (arrival < bestArrival) {
      bestArrival = arrival;
      best = model;
    }
  }
  return best;
}
