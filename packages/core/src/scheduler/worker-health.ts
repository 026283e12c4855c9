import type { WorkerId } from '../events.ts';

/** How much a worker's failures count against it when work is given out, and how soon they are forgotten. */
export interface HealthPolicy {
  readonly deathWeight: number;
  readonly failedBatchWeight: number;
  readonly halfLifeMs: number;
  /** Below this a record counts as clean, so that one old failure does not rank a worker last for ever. */
  readonly scoreMin: number;
}

export const defaultHealthPolicy: HealthPolicy = Object.freeze({
  deathWeight: 1,
  failedBatchWeight: 0.125,
  halfLifeMs: 15_000,
  scoreMin: 0.0625,
});

export interface HealthRecord {
  score: number;
  scoredAt: number;
}

/**
 * Recent failures by worker id. A record outlives its worker, because the successor under the same id runs on the same
 * device with the same files; at most `recordsMax` are kept, and the one made first goes first.
 */
export class WorkerHealth {
  readonly #policy: HealthPolicy;
  readonly #recordsMax: number;
  readonly #records = new Map<WorkerId, HealthRecord>();

  constructor(policy: HealthPolicy, recordsMax: number) {
    this.#policy = policy;
    this.#recordsMax = recordsMax;
  }

  get recordCount(): number {
    return this.#records.size;
  }

  recordOf(worker: WorkerId): HealthRecord {
    const known = this.#records.get(worker);
    if (known !== undefined) return known;
    if (this.#records.size >= this.#recordsMax) {
      for (const oldest of this.#records.keys()) {
        this.#records.delete(oldest);
        break;
      }
    }
    const record = { score: 0, scoredAt: 0 };
    this.#records.set(worker, record);
    return record;
  }

  noteDeath(record: HealthRecord, nowMs: number): void {
    this.#note(record, this.#policy.deathWeight, nowMs);
  }

  noteFailedBatch(record: HealthRecord, nowMs: number): void {
    this.#note(record, this.#policy.failedBatchWeight, nowMs);
  }

  /** 0 is clean; each halving takes `halfLifeMs`. */
  scoreOf(record: HealthRecord, nowMs: number): number {
    if (record.score === 0) return 0;
    const score = record.score * 2 ** ((record.scoredAt - nowMs) / this.#policy.halfLifeMs);
    return score < this.#policy.scoreMin ? 0 : score;
  }

  #note(record: HealthRecord, weight: number, nowMs: number): void {
    record.score = this.scoreOf(record, nowMs) + weight;
    record.scoredAt = nowMs;
  }
}
