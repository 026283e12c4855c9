import type { InstanceEntry } from './instance-entry.ts';
import type { WorkerEntry } from './worker-entry.ts';

/**
 * When to look for an instance that has been out for long enough to get a trial. Like the run clock it keeps only a
 * time before which there can be none: breakers open seldom.
 */
export class ProbationClock {
  #lookAt = Number.POSITIVE_INFINITY;

  /** No breaker becomes half-open before this. */
  get lookAt(): number {
    return this.#lookAt;
  }

  /** To be called when a breaker may have opened, or an instance with an open one came. */
  note({ breaker }: InstanceEntry): void {
    if (!breaker.isClosed && breaker.halfOpenAt < this.#lookAt) this.#lookAt = breaker.halfOpenAt;
  }

  /** The instances whose time has come. */
  due(workers: Iterable<WorkerEntry>, nowMs: number): readonly InstanceEntry[] {
    if (nowMs < this.#lookAt) return none;
    const found: InstanceEntry[] = [];
    this.#lookAt = Number.POSITIVE_INFINITY;
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
