/**
 * How long runs of one model on one worker take, by their rows, as measured lately: a straight line fitted to the runs,
 * each newer run with more weight than the one before it. Most engines behave like that: a constant for the run and
 * a constant for every row.
 */

/** Weight factor of a run after each newer one; about the last ten runs matter. */
const keptShare = 0.9;

/**
 * A run further than this factor from the expectation is an outlier: a garbage collection, a page fault, a first
 * run, an unusual request. A slower one counts as this much slower only, so that it takes several in a row
 * to change the expectation; after one that was faster by as much, old runs lose weight faster.
 */
const surpriseFactor = 8;
const keptShareAfterSurprise = 0.5;

/** When the rows of the runs differ less than this from their mean, relatively, no slope can be computed. */
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

  /** Expected milliseconds of a run of this many rows; 0 before the first was measured. */
  runMs(rows: number): number {
    if (this.#weight === 0) return 0;
    const meanRows = this.#rows / this.#weight;
    const meanMs = this.#ms / this.#weight;
    const variance = this.#rowsTimesRows / this.#weight - meanRows * meanRows;
    if (variance < (spreadMin * meanRows) ** 2) {
      // All runs had the same rows: a smaller one is assumed no faster, a larger one slower in proportion at worst.
      return rows <= meanRows ? meanMs : (meanMs * rows) / meanRows;
    }
    const covariance = this.#rowsTimesMs / this.#weight - meanRows * meanMs;
    // More rows never take less time, and the constant is never negative.
    const slope = Math.min(Math.max(covariance / variance, 0), meanMs / meanRows);
    return meanMs + slope * (rows - meanRows);
  }
}
