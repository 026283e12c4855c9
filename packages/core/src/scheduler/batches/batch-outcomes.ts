/** What becomes of batches that are out: answered, failed, or lost with their worker; and what that says of an instance. */
import type { BatchId, WorkerId } from '../../events.ts';
import type { ActionList } from '../action-list.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { InstanceEntry } from '../instances/instance-entry.ts';
import type { ProbationClock } from '../instances/probation-clock.ts';
import type { WorkerTable } from '../instances/worker-table.ts';
import type { Refusal } from '../requests/refusal.ts';
import { removedRefusal } from '../requests/refusals.ts';
import type { RequestEndings } from '../requests/request-endings.ts';
import type { RequestEntry } from '../requests/request-entry.ts';
import type { RequestTable } from '../requests/request-table.ts';
import { noteDeath, partIn } from '../retries/poison-detection.ts';
import { isFaultOfWorker, lostRefusal, noteRequeue, reactionTo } from '../retries/retry-policy.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import type { Batch } from './batch.ts';
import { overdueRefusal } from './run-clock.ts';

export interface OutcomeParts {
  readonly actions: ActionList;
  readonly requests: RequestTable;
  readonly workers: WorkerTable;
  readonly probation: ProbationClock;
  readonly dispatcher: Dispatcher;
  readonly endings: RequestEndings;
  readonly config: SchedulerConfig;
}

export class BatchOutcomes {
  readonly #room: OutcomeParts;

  constructor(room: OutcomeParts) {
    this.#room = room;
  }

  answered(id: BatchId, nowMs: number): void {
    const batch = this.#room.dispatcher.takeEnded(id, nowMs);
    if (batch === undefined) return;
    this.#noteSuccess(batch, nowMs);
    if (batch.liveCount > 0) this.#deliver(batch);
    batch.forgetEntries();
  }

  #deliver(batch: Batch): void {
    const isWhole = batch.liveCount === batch.entries.length;
    const { answerOrder } = batch.model;
    let live = batch.disband();
    if (!answerOrder.isEmpty) {
      for (const entry of live) if (answerOrder.has(entry)) entry.answeredIn = batch.id;
      this.#room.endings.deliverInOrder(batch.model);
      // Those that came before the model asked for an order.
      live = live.filter((entry) => entry.answeredIn === 0);
      if (live.length === 0) return;
    }
    for (const entry of live) this.#room.requests.settle(entry);
    const isAll = isWhole && live.length === batch.entries.length;
    const requests = isAll ? batch.requests : live.map((entry) => entry.request);
    this.#room.actions.add({ kind: 'deliver', batch: batch.id, requests });
  }

  progressed(id: BatchId, nowMs: number): void {
    const batch = this.#room.dispatcher.takeOutstanding(id);
    batch?.worker.progress(batch, nowMs);
  }

  failed(id: BatchId, failure: Refusal, nowMs: number): void {
    const batch = this.#room.dispatcher.takeEnded(id, nowMs);
    if (batch === undefined) return;
    const { worker, model } = batch;
    const reaction = reactionTo(failure.code, this.#room.config.retry);
    // What is to be tried elsewhere was not run, and what is wrong with a request says nothing of who ran it.
    if (reaction === 'elsewhere' || !isFaultOfWorker(failure.code))
      batch.instance.breaker.noteNothing(batch.dispatchedAt);
    else this.noteFailure(batch.instance, batch.dispatchedAt, nowMs);
    if (failure.code === 'unknown-model') this.#room.workers.unserve(worker, model);
    const wasShared = batch.entries.length > 1;
    this.#retryOrRefuse(batch, (entry) => {
      if (batch.hasProgressed) return failure;
      if (reaction === 'elsewhere') return noteRequeue(entry, this.#room.config.retry);
      entry.isAlone = true;
      return wasShared ? undefined : failure;
    });
  }

  workerGone(id: WorkerId, nowMs: number): void {
    const worker = this.#room.workers.takeKnown(id);
    if (worker === undefined) return;
    // One that was killed for its run has been blamed for that already.
    if (!worker.isCondemned) for (const instance of worker.instances) this.noteFailure(instance, nowMs, nowMs);
    const parts = worker.outstanding.map((batch) => partIn(worker, batch));
    this.#room.workers.remove(worker);
    for (const [index, batch] of worker.outstanding.entries()) {
      this.#room.dispatcher.forget(batch, worker.ranMs(batch, nowMs));
      this.#retryOrRefuse(batch, (entry) => {
        if (batch.hasProgressed && parts[index] !== 'overdue') return lostRefusal(batch);
        if (parts[index] === 'suspect') return noteDeath(entry, batch.isSole, this.#room.config.retry);
        if (parts[index] === 'innocent') return noteRequeue(entry, this.#room.config.retry);
        return overdueRefusal(batch);
      });
    }
  }

  #noteSuccess(batch: Batch, nowMs: number): void {
    const { instance, model, rows, ranMs, dispatchedAt } = batch;
    const wasClosed = instance.breaker.isClosed;
    instance.breaker.noteSuccess(dispatchedAt, nowMs);
    if (!wasClosed) this.#room.dispatcher.markCandidate(model);
    if (ranMs <= 0) return;
    instance.speed.note(rows, ranMs);
    model.speed.note(rows, ranMs);
    // One that serves the model no more counts for nothing in what the model does.
    if (instance.isServing) model.throughput.measure(instance, model.batchRowsMax);
    model.adaptive?.noteBatch(rows, nowMs - dispatchedAt, nowMs);
  }

  noteFailure(instance: InstanceEntry, dispatchedAt: number, nowMs: number): void {
    instance.breaker.noteFailure(instance.peersFailureShare(nowMs), dispatchedAt, nowMs);
    this.#room.probation.note(instance);
    this.#room.dispatcher.markCandidate(instance.model);
  }

  /** Returns who still waited for the batch to the queue, save those that `verdict` refuses. */
  #retryOrRefuse(batch: Batch, verdict: (entry: RequestEntry) => Refusal | undefined): void {
    const { model } = batch;
    const retried: RequestEntry[] = [];
    for (const entry of batch.disband()) {
      const refusal = verdict(entry) ?? (model.isRemoved ? removedRefusal(model) : undefined);
      if (refusal === undefined) retried.push(entry);
      else this.#room.endings.end(entry, refusal);
    }
    batch.forgetEntries();
    this.#room.requests.putBack(model, retried);
    this.#room.dispatcher.markCandidate(model);
  }
}
