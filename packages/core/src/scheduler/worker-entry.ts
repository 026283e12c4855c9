import { assert } from '../assert.ts';
import type { WorkerId } from '../events.ts';
import type { Batch } from './batch.ts';
import type { InstanceEntry } from './instance-entry.ts';

/** What the scheduler knows of one worker: what it serves, what it holds and how long the oldest of that has run. */
export class WorkerEntry {
  readonly worker: WorkerId;
  readonly instances: InstanceEntry[] = [];
  /** In the order of dispatch; the first one is running, of a concurrent model all are. */
  readonly outstanding: Batch[] = [];
  /** What they are expected to run, together. */
  #expectedMs = 0;
  batchesMax = 0;
  /** Kept equal to `isFree()` by the worker table, which counts the free ones. */
  hasCredit: boolean = false;
  idleSince: number;
  /** When the running batch began; of a concurrent model, the oldest. */
  runningSince = 0;
  /** When the running batch has run too long; Infinity when nothing runs. */
  runLimitAt = Number.POSITIVE_INFINITY;
  /** What it runs may be poison: alone with it, the worker's death would tell. */
  isQuarantined: boolean = false;
  /** The kill was asked for: it gets nothing more, whatever it still answers. */
  isCondemned: boolean = false;
  /** The batch that ran too long, for as long as it is outstanding. */
  overdueBatch: Batch | undefined = undefined;

  constructor(worker: WorkerId, nowMs: number) {
    this.worker = worker;
    this.idleSince = nowMs;
  }

  isFree(): boolean {
    return !this.isCondemned && !this.isQuarantined && this.outstanding.length < this.batchesMax;
  }

  begin(batch: Batch, nowMs: number): void {
    assert(this.isFree(), 'a worker is never given more batches than it asked for');
    this.outstanding.push(batch);
    this.#expectedMs += batch.expectedMs;
    if (batch.model.policy.isConcurrent && batch.isSuspect) this.isQuarantined = true;
    if (this.outstanding.length === 1) this.#startRunClock(nowMs);
  }

  end(batch: Batch, nowMs: number): void {
    const index = this.outstanding.indexOf(batch);
    assert(index >= 0, 'a batch ends on the worker that holds it');
    this.outstanding.splice(index, 1);
    // Sums of fractions may fall short of their parts.
    this.#expectedMs = this.outstanding.length === 0 ? 0 : Math.max(0, this.#expectedMs - batch.expectedMs);
    if (this.overdueBatch === batch) this.overdueBatch = undefined;
    if (this.isQuarantined) this.isQuarantined = this.outstanding.some((other) => other.isSuspect);
    if (index === 0) this.#startRunClock(nowMs);
    if (this.outstanding.length === 0) this.idleSince = nowMs;
  }

  /**
   * How long it will be busy with what it holds, as far as is known. A run that is late already is expected to be late
   * for as long again, so that one that hangs is the last to get more.
   */
  busyMs(nowMs: number): number {
    const running = this.outstanding[0];
    if (running === undefined || running.expectedMs === 0) return this.#expectedMs;
    const behindMs = Math.max(0, this.#expectedMs - running.expectedMs);
    return behindMs + Math.abs(running.expectedMs - (nowMs - this.runningSince));
  }

  /** How long the batch has run; 0 for one that waits its turn; its share of the time where several run at once. */
  ranMs(batch: Batch, nowMs: number): number {
    if (batch.model.policy.isConcurrent) return (nowMs - batch.dispatchedAt) / this.outstanding.length;
    return this.outstanding[0] === batch ? nowMs - this.runningSince : 0;
  }

  /** The running batch took too long: the worker gets nothing more. Returns that batch. */
  condemn(): Batch {
    const running = this.outstanding[0];
    assert(running !== undefined, 'only a worker that runs something runs too long');
    this.isCondemned = true;
    this.overdueBatch = running;
    this.runLimitAt = Number.POSITIVE_INFINITY;
    return running;
  }

  #startRunClock(nowMs: number): void {
    const running = this.outstanding[0];
    this.runningSince = running?.model.policy.isConcurrent === true ? running.dispatchedAt : nowMs;
    const isTimed = running !== undefined && !this.isCondemned;
    this.runLimitAt = isTimed ? this.runningSince + running.model.policy.runMsMax : Number.POSITIVE_INFINITY;
  }
}
