import type { BatchId } from '../events.ts';
import type { ActionList } from './action-list.ts';
import { Batch } from './batch.ts';
import type { ModelEntry } from './model-entry.ts';
import type { ModelTable } from './model-table.ts';
import type { RequestTable } from './request-table.ts';
import type { RunClock } from './run-clock.ts';
import { chooseWorker } from './worker-choice.ts';
import type { WorkerEntry } from './worker-entry.ts';
import type { WorkerHealth } from './worker-health.ts';
import type { WorkerTable } from './worker-table.ts';

/** What the dispatcher reads and writes; all of it belongs to the scheduler. */
export interface DispatchRoom {
  readonly actions: ActionList;
  readonly requests: RequestTable;
  readonly models: ModelTable;
  readonly workers: WorkerTable;
  readonly health: WorkerHealth;
  readonly runClock: RunClock;
  readonly lookAheadMax: number;
}

/** Brings waiting requests and free workers together, and knows the batches that are out. */
export class Dispatcher {
  readonly #room: DispatchRoom;
  readonly #batches = new Map<BatchId, Batch>();
  /** Models for which something changed since the last dispatching: only these can have work for a free worker. */
  readonly #candidates: ModelEntry[] = [];
  #batchCount = 0;

  constructor(room: DispatchRoom) {
    this.#room = room;
  }

  get outstandingCount(): number {
    return this.#batches.size;
  }

  /** To be called when requests or workers of the model came. */
  markCandidate(model: ModelEntry): void {
    if (model.isCandidate || model.queue.oldest === undefined) return;
    model.isCandidate = true;
    this.#candidates.push(model);
  }

  /** To be called after whatever may change a worker's room. */
  refreshCredit(worker: WorkerEntry): void {
    if (!this.#room.workers.refresh(worker)) return;
    for (const model of worker.models) this.markCandidate(model);
  }

  /** Afterwards no worker with room serves a model for which anything waits. */
  dispatchWaiting(nowMs: number): void {
    const candidates = this.#candidates;
    const { workers, health } = this.#room;
    while (candidates.length > 0 && workers.freeCount > 0) {
      const index = oldestHeadIndex(candidates);
      const model = candidates[index] as ModelEntry;
      const worker = model.queue.oldest && chooseWorker(model.workers, health, nowMs);
      if (worker === undefined) {
        model.isCandidate = false;
        const last = candidates.pop() as ModelEntry;
        if (last !== model) candidates[index] = last;
      } else {
        this.#dispatch(model, worker, nowMs);
      }
    }
    // No worker has room for the rest. They are candidates again when one gets it.
    for (const model of candidates) model.isCandidate = false;
    candidates.length = 0;
  }

  /** The outstanding batch of that id, off its worker; undefined when there is none, so that nothing counts twice. */
  takeEnded(id: BatchId, nowMs: number): Batch | undefined {
    const batch = this.#batches.get(id);
    if (batch === undefined) return undefined;
    this.forget(batch);
    batch.worker.end(batch, nowMs);
    this.#room.runClock.note(batch.worker);
    this.refreshCredit(batch.worker);
    return batch;
  }

  /** The batch is out no more. */
  forget(batch: Batch): void {
    this.#batches.delete(batch.id);
    batch.model.batchCount -= 1;
    this.#room.models.forgetIfOver(batch.model);
  }

  #dispatch(model: ModelEntry, worker: WorkerEntry, nowMs: number): void {
    const { actions, requests, runClock, lookAheadMax } = this.#room;
    this.#batchCount += 1;
    const batch = new Batch(this.#batchCount, worker, model, requests.takeBatch(model, lookAheadMax));
    this.#batches.set(batch.id, batch);
    model.batchCount += 1;
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

/** The candidate whose oldest request has waited longest; one without any comes first, to be struck off. */
function oldestHeadIndex(candidates: readonly ModelEntry[]): number {
  let bestIndex = 0;
  let bestArrival = Number.POSITIVE_INFINITY;
  for (let index = 0; index < candidates.length; index++) {
    const arrival = candidates[index]?.queue.oldest?.arrival ?? -1;
    if (arrival < bestArrival) {
      bestArrival = arrival;
      bestIndex = index;
    }
  }
  return bestIndex;
}
