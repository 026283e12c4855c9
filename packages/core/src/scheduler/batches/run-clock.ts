import type { WorkerEntry } from '../instances/worker-entry.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { Batch } from './batch.ts';

/**
 * When to look for a run that takes too long. It keeps no order of the workers, only a time before which none can be
 * over its limit: runs begin far more often than one of them hangs. The time is brought up to date when it has come.
 */
export class RunClock {
  #lookAt = Number.POSITIVE_INFINITY;

  /** No run is over its limit before this. */
  get lookAt(): number {
    return this.#lookAt;
  }

  /** To be called when a run may have begun. */
  note(worker: WorkerEntry): void {
    if (worker.runLimitAt < this.#lookAt) this.#lookAt = worker.runLimitAt;
  }

  /** The workers whose run is over its limit. */
  overdue(workers: Iterable<WorkerEntry>, nowMs: number): readonly WorkerEntry[] {
    if (nowMs < this.#lookAt) return none;
    const found: WorkerEntry[] = [];
    this.#lookAt = Number.POSITIVE_INFINITY;
    for (const worker of workers) {
      if (worker.runLimitAt <= nowMs) found.push(worker);
      else this.note(worker);
    }
    return found;
  }
}

const none: readonly WorkerEntry[] = [];

/** What the kill of its worker is told. */
export function overdueReason(batch: Batch): string {
  return `batch ${batch.id} of ${batch.model.key} ran for ${batch.model.policy.runMsMax} ms without an answer`;
}

export function overdueRefusal(batch: Batch): Refusal {
  const message = `${batch.model.key} ran this request for ${batch.model.policy.runMsMax} ms, its limit, and its worker was stopped; send less a request`;
  return { code: 'run-time-limit', message };
}
