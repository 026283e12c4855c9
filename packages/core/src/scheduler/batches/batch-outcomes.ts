/** Handles batches that ended: answered, failed, or lost with their worker; and what that says about an instance. */
import type { BatchId, WorkerId } from '../../events.ts';
import type { ActionList } from '../action-list.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { InstanceEntry } from '../instances/instance-entry.ts';
import type { ProbationClock } from '../instances/probation-clock.ts';
import type { WorkerTable } from '../instances/worker-table.ts';
import type { Refusal } from '../requests/refusal.ts';
import { lostWithModelRefusal } from '../requests/refusals.ts';
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
  readonly #parts: OutcomeParts;

  constructor(parts: OutcomeParts) {
    this.#parts = parts;
  }

  answered(id: BatchId, nowMs: number): void {
    const batch = this.#parts.dispatcher.takeEnded(id, nowMs);
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
      this.#parts.endings.deliverInOrder(batch.model);
      // Requests that arrived before the model's answers had to be in order.
      live = live.filter((entry) => entry.answeredIn === 0);
      if (live.length === 0) return;
    }
    for (const entry of live) this.#parts.requests.settle(entry);
    const isAll = isWhole && live.length === batch.entries.length;
    const requests = isAll ? batch.requests : live.map((entry) => entry.request);
    this.#parts.actions.add({ kind: 'deliver', batch: batch.id, requests });
  }

  progressed(id: BatchId, nowMs: number): void {
    const batch = this.#parts.dispatcher.takeOutstanding(id);
    batch?.worker.progress(batch, nowMs);
  }

  /** Returns the batch: the run limit of its worker has changed. */
  credited(id: BatchId, hasCredit: boolean, nowMs: number): Batch | undefined {
    const batch = this.#parts.dispatcher.takeOutstanding(id);
    batch?.worker.setCredit(batch, hasCredit, nowMs);
    return batch;
  }

  failed(id: BatchId, failure: Refusal, nowMs: number): void {
    const batch = this.#parts.dispatcher.takeEnded(id, nowMs);
    if (batch === undefined) return;
    const { worker, model } = batch;
    const reaction = reactionTo(failure.code, this.#parts.config.retry);
    // A batch to be retried elsewhere was not run, and a bad request says nothing about the instance that ran it.
    if (reaction === 'elsewhere' || !isFaultOfWorker(failure.code))
      batch.instance.breaker.noteNothing(batch.dispatchedAt);
    else this.noteFailure(batch.instance, batch.dispatchedAt, nowMs);
    if (failure.code === 'unknown-model') this.#parts.workers.unserve(worker, model);
    const wasShared = batch.entries.length > 1;
    this.#retryOrRefuse(batch, (entry) => {
      if (batch.hasProgressed) return failure;
      if (reaction === 'elsewhere') return noteRequeue(entry, this.#parts.config.retry);
      entry.isAlone = true;
      return wasShared ? undefined : failure;
    });
  }

  workerGone(id: WorkerId, isKilled: boolean, nowMs: number): void {
    const worker = this.#parts.workers.takeKnown(id);
    if (worker === undefined) return;
    // A worker killed for its run has been blamed for that already.
    if (!worker.isCondemned) for (const instance of worker.instances) this.noteFailure(instance, nowMs, nowMs);
    const roles = worker.outstanding.map((batch) => partIn(worker, batch));
    this.#parts.workers.remove(worker);
    for (const [index, batch] of worker.outstanding.entries()) {
      this.#parts.dispatcher.forget(batch, worker.ranMs(batch, nowMs));
      this.#retryOrRefuse(batch, (entry) => {
        if (batch.hasProgressed && roles[index] !== 'overdue') return lostRefusal(batch);
        if (roles[index] === 'suspect')
          return noteDeath(entry, { isSole: batch.isSole, isKilled }, this.#parts.config.retry);
        if (roles[index] === 'innocent') return noteRequeue(entry, this.#parts.config.retry);
        return overdueRefusal(batch);
      });
    }
  }

  #noteSuccess(batch: Batch, nowMs: number): void {
    const { instance, model, rows, ranMs, dispatchedAt } = batch;
    const wasClosed = instance.breaker.isClosed;
    instance.breaker.noteSuccess(dispatchedAt, nowMs);
    if (!wasClosed) this.#parts.dispatcher.markCandidate(model);
    if (ranMs <= 0) return;
    instance.speed.note(rows, ranMs);
    model.speed.note(rows, ranMs);
    // An instance that no longer serves the model does not count in the model's statistics.
    if (instance.isServing) model.throughput.measure(instance, model.batchRowsMax);
    model.adaptive?.noteBatch(rows, nowMs - dispatchedAt, nowMs);
  }

  noteFailure(instance: InstanceEntry, dispatchedAt: number, nowMs: number): void {
    instance.breaker.noteFailure(instance.peersFailureShare(nowMs), dispatchedAt, nowMs);
    this.#parts.probation.note(instance);
    this.#parts.dispatcher.markCandidate(instance.model);
  }

  /** Returns the batch's waiting requests to the queue, except those that `verdict` refuses. */
  #retryOrRefuse(batch: Batch, verdict: (entry: RequestEntry) => Refusal | undefined): void {
    const { model } = batch;
    const retried: RequestEntry[] = [];
    for (const entry of batch.disband()) {
      const refusal = verdict(entry) ?? (model.isRemoved ? lostWithModelRefusal(entry) : undefined);
      if (refusal === undefined) retried.push(entry);
      else this.#parts.endings.end(entry, refusal);
    }
    batch.forgetEntries();
    this.#parts.requests.putBack(model, retried);
    this.#parts.dispatcher.markCandidate(model);
  }
}
