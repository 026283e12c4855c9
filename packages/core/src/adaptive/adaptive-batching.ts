/**
 * Adapts how many rows a batch may have and how many instances are used, so that latency stays within a target and
 * throughput is as high as that allows. Pure: it is told of every batch that ended and returns two numbers.
 *
 * Rows follow additive increase and multiplicative decrease. A plain sawtooth would miss the target on purpose, again
 * and again; so the size that missed it is kept as a ceiling, which is raised only now and then, and ever more rarely.
 * Once the rows have settled, one instance more or fewer is tried, and kept if that raised throughput.
 */
import { assert } from '../assert.ts';
import { BatchWindow } from './batch-window.ts';

export interface AdaptiveOptions {
  /** Target for the 99th percentile of the time from arrival to answer. */
  readonly targetMs: number;
  readonly rowsMax: number;
  readonly instancesMax: number;
}

/**
 * The part of the target that a batch may take from dispatch to answer. Under load a worker holds two batches, so a
 * request waits up to one run for a worker, one run for the batch before its own, and one for its own: two of these
 * three come after the dispatch.
 */
export const serviceShare = 2 / 3;

export const adaptivePace = Object.freeze({
  /** Enough for a 99th percentile, few enough to follow a model that changes. */
  windowBatches: 128,
  /** Below this share of what is allowed there is room for more rows; from there to the limit nothing is changed. */
  comfortShare: 0.85,
  /** This far below the limit, a ceiling was set by a model that has become faster since. */
  staleShare: 0.6,
  /** Factor for the rows after a miss. */
  decrease: 0.8,
  /** Steps from one row to all of them. */
  stepsMax: 32,
  /** Windows before a ceiling or a number of instances is tried again; doubled after each failed trial. */
  patienceWindows: 8,
  patienceWindowsMax: 128,
  /** Windows that a trial of another number of instances has to settle its rows. */
  trialWindows: 6,
  /** A trial that loses this much, and has no room for more rows, is abandoned. */
  lossMax: 0.2,
  /** A trial is kept for at least this much more throughput: less may be chance. */
  gainMin: 0.05,
});

interface Trial {
  readonly instances: number;
  readonly rows: number;
  readonly ceiling: number;
  readonly rowsPerMs: number;
  windowsLeft: number;
}

export class AdaptiveBatching {
  readonly #budgetMs: number;
  readonly #rowsMax: number;
  #instancesMax: number;
  readonly #step: number;
  readonly #window = new BatchWindow(adaptivePace.windowBatches);
  #rows: number;
  #instances: number;
  /** The largest size that is not known to miss the target. */
  #ceiling: number;
  #ceilingPatience: number = adaptivePace.patienceWindows;
  #windowsUnderCeiling = 0;
  #trial: Trial | undefined = undefined;
  #direction: 1 | -1 = -1;
  #trialPatience: number = adaptivePace.patienceWindows;
  #windowsSettled = 0;

  /** Begins with one row on all instances: slow at first, but never late. */
  constructor({ targetMs, rowsMax, instancesMax }: AdaptiveOptions) {
    assert(
      targetMs > 0 && rowsMax >= 1 && instancesMax >= 1,
      'targetMs is above 0, rowsMax and instancesMax are at least 1',
    );
    this.#budgetMs = targetMs * serviceShare;
    this.#rowsMax = rowsMax;
    this.#instancesMax = instancesMax;
    this.#step = Math.max(1, Math.round(rowsMax / adaptivePace.stepsMax));
    this.#rows = 1;
    this.#ceiling = rowsMax;
    this.#instances = instancesMax;
  }

  /** Rows that a batch may have. A single request with more of them is a batch all the same. */
  get rows(): number {
    return this.#rows;
  }

  /** Instances that may be used. */
  get instances(): number {
    return this.#instances;
  }

  /** Instances were added or removed. */
  setInstancesMax(instancesMax: number): void {
    if (instancesMax === this.#instancesMax || instancesMax < 1) return;
    const areAllInUse = this.#instances === this.#instancesMax;
    this.#instancesMax = instancesMax;
    this.#instances = areAllInUse ? instancesMax : Math.min(this.#instances, instancesMax);
    // Measurements with another number of instances no longer apply.
    this.#trial = undefined;
    this.#windowsSettled = 0;
  }

  /** A batch was answered, `latencyMs` after its dispatch. */
  noteBatch(rows: number, latencyMs: number, nowMs: number): void {
    this.#window.add(rows, latencyMs, rows >= this.#rows, nowMs);
    if (!this.#window.isComplete) return;
    this.#judge(this.#window.p99Ms(), this.#window.isSaturated, this.#window.rowsPerMs);
    this.#window.clear();
  }

  #judge(p99Ms: number, isSaturated: boolean, rowsPerMs: number): void {
    if (p99Ms > this.#budgetMs) {
      this.#windowsSettled = 0;
      this.#shrink();
      this.#endTrialIfDue(0);
      return;
    }
    // Without enough load to fill batches nothing can be learned about larger ones, and none are needed.
    if (!isSaturated) return;
    if (this.#grow(p99Ms)) this.#windowsSettled = 0;
    else this.#windowsSettled += 1;
    if (this.#trial !== undefined) this.#endTrialIfDue(rowsPerMs);
    else if (this.#windowsSettled >= this.#trialPatience) this.#beginTrial(rowsPerMs);
  }

  #shrink(): void {
    if (this.#rows === 1) {
      // Not even single rows are fast enough: with fewer instances each has more of the machine.
      if (this.#trial === undefined) this.#instances = Math.max(1, this.#instances - 1);
      return;
    }
    // A miss right after raising the ceiling: wait longer before the next trial. A miss below it: the model became
    // slower.
    const isInVain = this.#rows === this.#ceiling && this.#ceiling < this.#rowsMax;
    this.#ceilingPatience = isInVain ? doubled(this.#ceilingPatience) : adaptivePace.patienceWindows;
    this.#ceiling = Math.max(1, this.#rows - this.#step);
    this.#windowsUnderCeiling = 0;
    this.#rows = Math.max(1, Math.floor(this.#rows * adaptivePace.decrease));
  }

  /** Whether the number of rows was raised. */
  #grow(p99Ms: number): boolean {
    if (p99Ms >= adaptivePace.comfortShare * this.#budgetMs) return false;
    if (p99Ms < adaptivePace.staleShare * this.#budgetMs) {
      this.#ceiling = this.#rowsMax;
      this.#ceilingPatience = adaptivePace.patienceWindows;
    } else if (this.#rows >= this.#ceiling && this.#ceiling < this.#rowsMax) {
      this.#windowsUnderCeiling += 1;
      if (this.#windowsUnderCeiling < this.#ceilingPatience) return false;
      this.#windowsUnderCeiling = 0;
      this.#ceiling = Math.min(this.#rowsMax, this.#ceiling + this.#step);
    }
    if (this.#rows >= this.#ceiling) return false;
    this.#rows = Math.min(this.#ceiling, this.#rows + this.#step);
    return true;
  }

  #beginTrial(rowsPerMs: number): void {
    this.#windowsSettled = 0;
    if (this.#instancesMax === 1) return;
    if (this.#instances === this.#instancesMax) this.#direction = -1;
    else if (this.#instances === 1) this.#direction = 1;
    const { trialWindows } = adaptivePace;
    this.#trial = {
      instances: this.#instances,
      rows: this.#rows,
      ceiling: this.#ceiling,
      rowsPerMs,
      windowsLeft: trialWindows,
    };
    this.#instances += this.#direction;
    this.#ceiling = this.#rowsMax;
  }

  #endTrialIfDue(rowsPerMs: number): void {
    const trial = this.#trial;
    if (trial === undefined) return;
    trial.windowsLeft -= 1;
    const isHopeless = this.#windowsSettled > 0 && rowsPerMs < trial.rowsPerMs * (1 - adaptivePace.lossMax);
    if (trial.windowsLeft > 0 && !isHopeless) return;
    this.#trial = undefined;
    this.#windowsSettled = 0;
    if (rowsPerMs >= trial.rowsPerMs * (1 + adaptivePace.gainMin)) {
      this.#trialPatience = adaptivePace.patienceWindows;
      return;
    }
    this.#instances = trial.instances;
    this.#rows = trial.rows;
    this.#ceiling = trial.ceiling;
    this.#direction = this.#direction === 1 ? -1 : 1;
    this.#trialPatience = doubled(this.#trialPatience);
  }
}

function doubled(windows: number): number {
  return Math.min(2 * windows, adaptivePace.patienceWindowsMax);
}
