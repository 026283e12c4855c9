/**
 * Knows which models may share worker processes: those whose files are small, until a measurement shows that the others
 * in their worker would wait for them, or suffer from them. What was found stays true for the same files.
 */
import type { SharingPolicy } from './sharing-policy.ts';

/** A version with the files and the configuration that it had when it was measured. */
export type ContentId = string;

/** What a model did in a shared worker since the last time it was asked. */
export interface RunsMeasured {
  readonly runs: number;
  /** All of them together, without the time in queues. */
  readonly runMs: number;
  readonly longestMs: number;
  readonly periodMs: number;
  /** Whether other models are loaded in the same worker. */
  readonly hasNeighbours: boolean;
}

/** How a shared worker ended while it loaded the model or ran a batch of it. */
export type WorkerEnd = 'crashed' | 'killed' | 'over-time-limit';

export class SmallModels {
  readonly #policy: SharingPolicy;
  /** Why each of these has workers of its own. */
  readonly #outgrown = new Map<ContentId, string>();
  readonly #kills = new Map<ContentId, readonly number[]>();

  constructor(policy: SharingPolicy) {
    this.#policy = policy;
  }

  /** Why the model has workers of its own; undefined: it shares them. */
  reasonForOwn(content: ContentId, fileBytes: number): string | undefined {
    const { fileBytesMax } = this.#policy;
    if (fileBytes > fileBytesMax) return `its files have ${fileBytes} bytes, more than ${fileBytesMax}`;
    return this.#outgrown.get(content);
  }

  /** Each of these returns the reason when the model is to be moved to workers of its own. */
  noteLoaded(content: ContentId, loadMs: number): string | undefined {
    const { loadMsMax } = this.#policy;
    if (loadMs <= loadMsMax) return undefined;
    return this.#outgrow(content, `its load took ${loadMs.toFixed(0)} ms, more than ${loadMsMax}`);
  }

  noteRuns(content: ContentId, measured: RunsMeasured): string | undefined {
    const { runMsMax, runsMin, longRunMsMax, busyShareMax } = this.#policy;
    const { runs, runMs, longestMs, periodMs, hasNeighbours } = measured;
    if (longestMs > longRunMsMax) {
      return this.#outgrow(content, `a run of it took ${longestMs.toFixed(0)} ms, more than ${longRunMsMax}`);
    }
    if (runs >= runsMin && runMs / runs > runMsMax) {
      return this.#outgrow(content, `its runs take ${(runMs / runs).toFixed(1)} ms, more than ${runMsMax}`);
    }
    if (hasNeighbours && periodMs > 0 && runMs / periodMs > busyShareMax) {
      const [used, allowed] = [runMs / periodMs, busyShareMax].map((share) => `${Math.round(share * 100)} %`);
      return this.#outgrow(content, `it uses ${used} of its worker's time, more than ${allowed}`);
    }
    return undefined;
  }

  noteWorkerEnded(content: ContentId, end: WorkerEnd, nowMs: number): string | undefined {
    const { killsMax, killsMs } = this.#policy;
    switch (end) {
      case 'crashed':
        return this.#outgrow(content, 'its worker crashed while it ran');
      case 'over-time-limit':
        return this.#outgrow(content, 'its worker was killed because it exceeded a time limit');
      case 'killed': {
        const kills = [...(this.#kills.get(content) ?? []).filter((at) => at > nowMs - killsMs), nowMs];
        this.#kills.set(content, kills);
        if (kills.length <= killsMax) return undefined;
        return this.#outgrow(content, `its worker was killed ${kills.length} times while it ran`);
      }
    }
  }

  /** The files are gone, or have changed. */
  forget(content: ContentId): void {
    this.#outgrown.delete(content);
    this.#kills.delete(content);
  }

  #outgrow(content: ContentId, reason: string): string | undefined {
    if (this.#outgrown.has(content)) return undefined;
    this.#outgrown.set(content, reason);
    return reason;
  }
}
