import type { Clock } from '../../data-plane/clock.ts';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { KeeperLoop } from './keeper-loop.ts';
import type { KnownRevisions } from './known-revisions.ts';
import { type MeasureProcess, measuredOnce, residentBytesOf } from './resident-memory.ts';
import type { RevisionListener } from './revision-listener.ts';

/** Processes are not measured more often than this, however many contexts wait for room. */
const measurePauseMs = 500;

export interface MemoryMeterParts {
  readonly clock: Clock;
  readonly measure: MeasureProcess;
  /** Measures processes without holding the event loop; if left out, `measure` is used for all of them in one turn. */
  readonly measureAside?: ((pids: readonly number[]) => Promise<MeasureProcess>) | undefined;
  readonly listener: Pick<RevisionListener, 'memoryMeasured'>;
  readonly revisions: KnownRevisions;
  readonly loop: KeeperLoop;
}

/** Measures the memory of revisions and reports it to the keeper, which enforces the budget. */
export class MemoryMeter {
  readonly #parts: MemoryMeterParts;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #cancelNext: (() => void) | undefined;
  #measuring: Promise<void> | undefined;
  #isStopped: boolean = false;

  constructor(parts: MemoryMeterParts) {
    this.#parts = parts;
  }

  /** Measures every process now, unless that was done already. */
  measure(measure: MeasureProcess = this.#parts.measure): void {
    const { clock, listener, revisions, loop } = this.#parts;
    this.#measuredAt = clock.now();
    const measureOnce = measuredOnce(measure);
    const byModel: { model: ServedModel; bytes: number }[] = [];
    for (const revision of revisions.all()) {
      const { running } = revision;
      if (running === undefined || !running.isSettled) continue;
      const bytes = residentBytesOf(revision, running, measureOnce);
      // The memory of shared processes is divided evenly among the models that share them.
      for (const model of revision.models) byModel.push({ model, bytes: bytes / revision.members.length });
      loop.tell({ kind: 'measured', revision: revision.id, residentBytes: bytes });
    }
    listener.memoryMeasured(byModel, loop.keeper.usedBytes);
  }

  /** Something waits for room: measure again instead of using the last measurement. */
  measureForDemand(): void {
    const { clock, loop } = this.#parts;
    const isStale = clock.now() - this.#measuredAt >= measurePauseMs;
    if (isStale && loop.keeper.budgetBytes !== Number.POSITIVE_INFINITY) this.measure();
  }

  /** Measures without holding the event loop, unless that was done a moment ago; resolves when it is done. */
  measureAside(): Promise<void> {
    if (this.#parts.clock.now() - this.#measuredAt < measurePauseMs) return Promise.resolve();
    this.#measuring ??= this.#measuredAside().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #measuredAside(): Promise<void> {
    const measure = await this.#parts.measureAside?.(this.#pids());
    if (!this.#isStopped) this.measure(measure);
  }

  measureEvery(pauseMs: number): void {
    this.#cancelNext = this.#parts.clock.alarm(pauseMs, () => {
      if (this.#parts.measureAside === undefined) {
        this.measure();
        this.measureEvery(pauseMs);
        return;
      }
      void this.measureAside().then(() => {
        if (!this.#isStopped) this.measureEvery(pauseMs);
      });
    });
  }

  /** The processes of all workers, each once. */
  #pids(): readonly number[] {
    const memory = this.#parts.revisions.all().flatMap(({ running }) => running?.memory() ?? []);
    return [...new Set(memory.flatMap(({ pid }) => (pid === undefined ? [] : [pid])))];
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelNext?.();
  }
}
