import type { InstanceEntry } from './instance-entry.ts';
import type { WorkerEntry } from './worker-entry.ts';

/**
 * When to check for an instance whose breaker has been open long enough for a trial. Like the run clock it keeps only a
 * time before which there can be none: breakers open rarely.
 */
export class ProbationClock {
  #checkAt = Number.POSITIVE_INFINITY;

  /** No breaker becomes half-open before this. */
  get checkAt(): number {
    return this.#checkAt;
  }

  /** Call it when a breaker may have opened, or an instance with an open one was added. */
  note({ breaker }: InstanceEntry): void {
    if (!breaker.isClosed && breaker.halfOpenAt < this.#checkAt) this.#checkAt = breaker.halfOpenAt;
  }

  /** The instances whose breaker is half-open now. */
  due(workers: Iterable<WorkerEntry>, nowMs: number): readonly InstanceEntry[] {
    if (nowMs < this.#checkAt) return none;
    const found: InstanceEntry[] = [];
    this.#checkAt = Number.POSITIVE_INFINITY;
    for (const { instances } of workers) {
      for (const instance of instances) {
        if (instance.breaker.isClosed) continue;
        if (instance.breaker.halfOpenAt <= nowMs) found.push(instance);
        else this.note(instance);
      }
    }
    return found;
  }
}

const none: readonly InstanceEntry[] = [];
