/** Exact totals of one model version, for the statistics calls. */

import type { BatchTiming, RequestTiming } from '../data-plane/observer.ts';
import type { BatchStatistics, ModelStatistics } from '../management/statistics.ts';
import { DurationTally } from './duration-tally.ts';

interface BatchTally {
  readonly rows: number;
  readonly computeInput: DurationTally;
  readonly computeInfer: DurationTally;
  readonly computeOutput: DurationTally;
}

export class ModelTally {
  readonly #answered = new DurationTally();
  readonly #failed = new DurationTally();
  readonly #queue = new DurationTally();
  readonly #computeInput = new DurationTally();
  readonly #computeInfer = new DurationTally();
  readonly #computeOutput = new DurationTally();
  readonly #cacheHit = new DurationTally();
  readonly #cacheMiss = new DurationTally();
  /** By the number of rows, of which there are at most as many as the largest batch has. */
  readonly #batches = new Map<number, BatchTally>();
  readonly #epochNow: () => number;
  #rowsRun = 0;
  #batchesRun = 0;
  #lastAnsweredAt = 0;

  constructor(epochNow: () => number) {
    this.#epochNow = epochNow;
  }

  requestAnswered(timing: RequestTiming): void {
    this.#answered.add(timing.totalMs);
    this.#queue.add(timing.queueMs);
    this.#computeInput.add(timing.computeInputMs);
    this.#computeInfer.add(timing.computeInferMs);
    this.#computeOutput.add(timing.computeOutputMs);
    this.#lastAnsweredAt = this.#epochNow();
  }

  /** Clients expect every answered request in the queue totals, and only those that were run in the compute totals. */
  answeredWithoutRun(totalMs: number): void {
    this.#answered.add(totalMs);
    this.#queue.add(0);
    this.#cacheHit.add(totalMs);
    this.#lastAnsweredAt = this.#epochNow();
  }

  cacheMissed(lookupMs: number): void {
    this.#cacheMiss.add(lookupMs);
  }

  requestFailed(totalMs: number): void {
    this.#failed.add(totalMs);
  }

  batchRan(rows: number, timing: BatchTiming): void {
    this.#rowsRun += rows;
    this.#batchesRun += 1;
    let batches = this.#batches.get(rows);
    if (batches === undefined) {
      batches = {
        rows,
        computeInput: new DurationTally(),
        computeInfer: new DurationTally(),
        computeOutput: new DurationTally(),
      };
      this.#batches.set(rows, batches);
    }
    batches.computeInput.add(timing.computeInputMs);
    batches.computeInfer.add(timing.computeInferMs);
    batches.computeOutput.add(timing.computeOutputMs);
  }

  statistics(): ModelStatistics {
    return {
      answered: this.#answered.duration(),
      failed: this.#failed.duration(),
      queue: this.#queue.duration(),
      computeInput: this.#computeInput.duration(),
      computeInfer: this.#computeInfer.duration(),
      computeOutput: this.#computeOutput.duration(),
      cacheHit: this.#cacheHit.duration(),
      cacheMiss: this.#cacheMiss.duration(),
      rowsRun: this.#rowsRun,
      batchesRun: this.#batchesRun,
      batches: [...this.#batches.values()].sort((a, b) => a.rows - b.rows).map(batchStatisticsFrom),
      lastAnsweredAt: this.#lastAnsweredAt,
    };
  }
}

function batchStatisticsFrom({ rows, computeInput, computeInfer, computeOutput }: BatchTally): BatchStatistics {
  return {
    rows,
    computeInput: computeInput.duration(),
    computeInfer: computeInfer.duration(),
    computeOutput: computeOutput.duration(),
  };
}
