import type { WorkerEntry } from '../instances/worker-entry.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { Batch } from './batch.ts';

/**
 * When to check for a run that takes too long. It does not sort the workers, but keeps a time before which none can be
 * over its limit: runs begin far more often than one of them hangs. The time is recomputed when it is reached.
 */
export class RunClock {
  #checkAt = Number.POSITIVE_INFINITY;

  /** No run is over its limit before this. */
  get checkAt(): number {
    return this.#checkAt;
  }

  /** Call it when a run may have begun. */
  note(worker: WorkerEntry): void {
    if (worker.runLimitAt < this.#checkAt) this.#checkAt = worker.runLimitAt;
  }

  /** The workers whose run is over its limit. */
  overdue(workers: Iterable<WorkerEntry>, nowMs: number): readonly WorkerEntry[] {
    if (nowMs < this.#checkAt) return none;
    const found: WorkerEntry[] = [];
    this.#checkAt = Number.POSITIVE_INFINITY;
    for (const worker of workers) {
      if (worker.runLimitAt <= nowMs) found.push(worker);
      else this.note(worker);
    }
    return found;
  }
}

const none: readonly WorkerEntry[] = [];

/** The reason for killing its worker. */
export function overdueReason(batch: Batch): string {
  return `batch ${batch.id} of ${batch.model.key} ran for ${batch.model.policy.runMsMax} ms without an answer`;
}

export function overdueRefusal(batch: Batch): Refusal {
  const message = `${batch.model.key} ran this request for its limit of ${batch.model.policy.runMsMax} ms, and its worker was stopped; send less work per request`;
  return { code: 'run-time-limit', message };
}
