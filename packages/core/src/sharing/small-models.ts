/**
 * Knows which models may share worker processes: those whose files are small, until a measurement shows that the others
 * in their worker would wait for them, or suffer from them. What was found stays true for the same files. A model whose runs
 * were measured and are short shares workers with its like: one that was never run may hold up its worker for as long as it likes.
 */
import type { WorkerEnd } from '@millrace/protocol';
import type { SharingPolicy } from './sharing-policy.ts';

/** A version with the files and the configuration that it had when it was measured. */
export type ContentId = string;

/** The runs of a model in a shared worker. */
export interface RunsMeasured {
  readonly runs: number;
  readonly shortestMs: number;
  /** The runs of the last `periodMs` together, without the time in queues. */
  readonly busyMs: number;
  readonly periodMs: number;
  /** Whether other models are loaded in the same worker. */
  readonly hasNeighbours: boolean;
}

export class SmallModels {
  readonly #policy: SharingPolicy;
  /** Why each of these has workers of its own. */
  readonly #outgrown = new Map<ContentId, string>();
  readonly #kills = new Map<ContentId, readonly number[]>();
  readonly #measured = new Set<ContentId>();

  constructor(policy: SharingPolicy) {
    this.#policy = policy;
  }

  /** Why the model has workers of its own; undefined: it shares them. */
  reasonForOwn(content: ContentId, fileBytes: number): string | undefined {
    const { fileBytesMax } = this.#policy;
    if (fileBytes > fileBytesMax) return `its files have ${fileBytes} bytes, more than ${fileBytesMax}`;
    return this.#outgrown.get(content);
  }

  /** Whether so many of its runs were measured that it is known to have short ones. */
  isMeasured(content: ContentId): boolean {
    return this.#measured.has(content);
  }

  /** Each of these returns the reason when the model is to be moved to workers of its own. */
  noteLoaded(content: ContentId, processorMs: number): string | undefined {
    const { loadMsMax } = this.#policy;
    if (processorMs <= loadMsMax) return undefined;
    return this.#outgrow(content, `its load took ${processorMs.toFixed(0)} ms, more than ${loadMsMax}`);
  }

  noteRuns(content: ContentId, measured: RunsMeasured): string | undefined {
    const { runMsMax, runsMin, longRunMsMax, busyShareMax } = this.#policy;
    const { runs, shortestMs, busyMs, periodMs, hasNeighbours } = measured;
    const isLong = runs >= 2 && shortestMs > longRunMsMax;
    if (isLong || (runs >= runsMin && shortestMs > runMsMax)) {
      return this.#outgrow(content, `its runs take ${shortestMs.toFixed(1)} ms or more; the limit is ${runMsMax}`);
    }
    if (hasNeighbours && periodMs > 0 && busyMs / periodMs > busyShareMax) {
      const [used, allowed] = [busyMs / periodMs, busyShareMax].map((share) => `${Math.round(share * 100)} %`);
      return this.#outgrow(content, `it uses ${used} of its worker's time, more than ${allowed}`);
    }
    if (runs >= runsMin && !this.#outgrown.has(content)) this.#measured.add(content);
    return undefined;
  }

  /** A shared worker ended while it loaded the model or ran a batch of it. */
  noteWorkerEnded(content: ContentId, end: WorkerEnd, nowMs: number): string | undefined {
    const { killsMax, killsMs } = this.#policy;
    switch (end) {
      case 'crashed':
        return this.#outgrow(content, 'its worker crashed while it ran');
      case 'ended-by-router':
        return this.#outgrow(content, 'its worker was ended for a time limit or a malformed message while it ran');
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
    this.#measured.delete(content);
  }

  #outgrow(content: ContentId, reason: string): string | undefined {
    if (this.#outgrown.has(content)) return undefined;
    this.#outgrown.set(content, reason);
    this.#measured.delete(content);
    return reason;
  }
}
