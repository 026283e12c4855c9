/**
 * How long runs of one model on one worker take by their rows, as measured lately: the straight line that fits the
 * runs best, each newer run counting more than the one before it. Most engines are such lines: something for the run
 * itself, something for every row.
 */

/** What a run still counts for after the next one; about the last ten runs matter. */
const keptShare = 0.9;

/**
 * A run further than this factor from what was expected is a surprise: a collection of garbage, a page fault, a first
 * run, a request unlike all others. One that took longer counts as this much longer, so that it takes several in a row
 * to be believed; after one that was quicker by as much, what is remembered fades faster.
 */
const surpriseFactor = 8;
const keptShareAfterSurprise = 0.5;

/** When the rows of the runs differ less than this from their mean, relatively, they say nothing of a slope. */
const spreadMin = 0.1;

export class RunSpeed {
  #weight = 0;
  #rows = 0;
  #ms = 0;
  #rowsTimesRows = 0;
  #rowsTimesMs = 0;

  get isKnown(): boolean {
    return this.#weight > 0;
  }

  note(rows: number, ranMs: number): void {
    const expectedMs = this.runMs(rows);
    const ms = expectedMs > 0 ? Math.min(ranMs, expectedMs * surpriseFactor) : ranMs;
    const kept = ranMs * surpriseFactor < expectedMs ? keptShareAfterSurprise : keptShare;
    this.#weight = this.#weight * kept + 1;
    this.#rows = this.#rows * kept + rows;
    this.#ms = this.#ms * kept + ms;
    this.#rowsTimesRows = this.#rowsTimesRows * kept + rows * rows;
    this.#rowsTimesMs = this.#rowsTimesMs * kept + rows * ms;
  }

  /** Milliseconds that a run of so many rows takes; 0 before the first was measured. */
  runMs(rows: number): number {
    if (this.#weight === 0) return 0;
    const meanRows = this.#rows / this.#weight;
    const meanMs = this.#ms / this.#weight;
    const variance = this.#rowsTimesRows / this.#weight - meanRows * meanRows;
    if (variance < (spreadMin * meanRows) ** 2) {
      // All runs were alike: a smaller one is not known to be quicker, and a larger one at worst in proportion slower.
      return rows <= meanRows ? meanMs : (meanMs * rows) / meanRows;
    }
    const covariance = this.#rowsTimesMs / this.#weight - meanRows * meanMs;
    // More rows never take less time, and no rows never less than none.
    const slope = Math.min(Math.max(covariance / variance, 0), meanMs / meanRows);
    return meanMs + slope * (rows - meanRows);
  }
}
