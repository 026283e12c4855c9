import { assert } from '../../assert.ts';
import type { WorkerId } from '../../events.ts';
import type { CallerRunsMax } from '../../model-policy.ts';
import type { Batch } from '../batches/batch.ts';
import { CallerRuns, mayBeginRun } from './caller-runs.ts';
import type { InstanceEntry } from './instance-entry.ts';

/** The scheduler's state of one worker: what it serves, which batches it holds and how long they have run. */
export class WorkerEntry {
  readonly worker: WorkerId;
  readonly instances: InstanceEntry[] = [];
  /** In order of dispatch; the first one is running, of concurrent ones all are. */
  readonly outstanding: Batch[] = [];
  /** Their total expected run time. */
  #expectedMs = 0;
  batchesMax = 0;
  /** Kept equal to `isFree()` by the worker table, which counts the free ones. */
  hasCredit: boolean = false;
  idleSince: number;
  /** When the first running batch reaches its run limit; Infinity when nothing runs. */
  runLimitAt = Number.POSITIVE_INFINITY;
  /**
   * A suspected poison request runs on it alone, so that the worker's death would be conclusive: it gets nothing else.
   */
  isQuarantined: boolean = false;
  /** A kill was requested: it gets nothing more, whatever it still answers. */
  isCondemned: boolean = false;
  readonly #callerRuns = new CallerRuns();

  constructor(worker: WorkerId, nowMs: number) {
    this.worker = worker;
    this.idleSince = nowMs;
  }

  isFree(): boolean {
    return !this.isCondemned && !this.isQuarantined && this.outstanding.length < this.batchesMax;
  }

  /** Whether one run more is within the caller's limit. Requests of no caller have none. */
  isOpenTo(caller: string, rule: CallerRunsMax): boolean {
    if (rule === Number.POSITIVE_INFINITY || caller === '') return true;
    return mayBeginRun(rule, this.#callerRuns.of(caller), this.batchesMax - this.outstanding.length, this.batchesMax);
  }

  begin(batch: Batch, nowMs: number): void {
    assert(this.isFree(), 'a worker is never given more batches than it asked for');
    this.outstanding.push(batch);
    if (batch.caller !== '') this.#callerRuns.add(batch.caller);
    this.#expectedMs += batch.expectedMs;
    if (batch.isConcurrent && batch.isSuspect) this.isQuarantined = true;
    if (this.outstanding.length === 1 || batch.isConcurrent) this.#start(batch, nowMs);
    if (batch.isConcurrent && this.outstanding.length > 1) for (const one of this.outstanding) one.hadCompany = true;
  }

  end(batch: Batch, nowMs: number): void {
    const index = this.outstanding.indexOf(batch);
    assert(index >= 0, 'a batch ends on the worker that holds it');
    this.outstanding.splice(index, 1);
    if (batch.caller !== '') this.#callerRuns.remove(batch.caller);
    // Sums of fractions may be smaller than their parts.
    this.#expectedMs = this.outstanding.length === 0 ? 0 : Math.max(0, this.#expectedMs - batch.expectedMs);
    if (this.isQuarantined) this.isQuarantined = this.outstanding.some((other) => other.isSuspect);
    if (batch.runLimitAt === this.runLimitAt) this.#resetRunLimit();
    const next = this.outstanding[0];
    if (next === undefined) this.idleSince = nowMs;
    else if (next.startedAt === Number.POSITIVE_INFINITY) this.#start(next, nowMs);
  }

  progress(batch: Batch, nowMs: number): void {
    batch.hasProgressed = true;
    const { policy } = batch.model;
    if (policy.sharesProgress) for (const other of this.outstanding) other.extendRun(nowMs);
    else batch.extendRun(nowMs);
    this.#resetRunLimit();
  }

  setCredit(batch: Batch, hasCredit: boolean, nowMs: number): void {
    batch.setCredit(hasCredit, nowMs);
    this.#resetRunLimit();
  }

  /**
   * How long it will be busy with what it holds, as far as is known. A run that is late already is expected to be late
   * for as long again, so that a hanging one is the last to get more.
   */
  busyMs(nowMs: number): number {
    const running = this.outstanding[0];
    if (running === undefined || running.expectedMs === 0) return this.#expectedMs;
    const behindMs = Math.max(0, this.#expectedMs - running.expectedMs);
    return behindMs + Math.abs(running.expectedMs - (nowMs - running.startedAt));
  }

  /** How long the batch has run; 0 for one that waits its turn; its share of the time where several run at once. */
  ranMs(batch: Batch, nowMs: number): number {
    if (batch.isConcurrent) return (nowMs - batch.startedAt) / this.outstanding.length;
    return batch.startedAt === Number.POSITIVE_INFINITY ? 0 : nowMs - batch.startedAt;
  }

  /** A run is over its limit: the worker gets nothing more. Returns the batch, the oldest of several. */
  condemn(nowMs: number): Batch {
    const overdue = this.outstanding.filter((batch) => batch.runLimitAt <= nowMs);
    const [first] = overdue;
    assert(first !== undefined, 'only a worker that runs something runs too long');
    for (const batch of overdue) batch.isOverdue = true;
    this.isCondemned = true;
    this.runLimitAt = Number.POSITIVE_INFINITY;
    return first;
  }

  #start(batch: Batch, nowMs: number): void {
    batch.start(nowMs);
    if (batch.runLimitAt < this.runLimitAt && !this.isCondemned) this.runLimitAt = batch.runLimitAt;
  }

  #resetRunLimit(): void {
    this.runLimitAt = Number.POSITIVE_INFINITY;
    if (this.isCondemned) return;
    for (const { runLimitAt } of this.outstanding) if (runLimitAt < this.runLimitAt) this.runLimitAt = runLimitAt;
  }
}
