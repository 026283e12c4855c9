/** Counts recent batches of an instance and how many of them failed; both decay with the same half-life. */
/** Minimum part of a half-life before the counts are decayed again. */
const fadingsMax = 256;

export class FailureTally {
  readonly #halfLifeMs: number;
  #batches = 0;
  #failures = 0;
  #countedAt = 0;

  constructor(halfLifeMs: number) {
    this.#halfLifeMs = halfLifeMs;
  }

  note(hasFailed: boolean, nowMs: number): void {
    this.#fade(nowMs);
    this.#batches += 1;
    if (hasFailed) this.#failures += 1;
  }

  batches(nowMs: number): number {
    this.#fade(nowMs);
    return this.#batches;
  }

  failures(nowMs: number): number {
    this.#fade(nowMs);
    return this.#failures;
  }

  clear(): void {
    this.#batches = 0;
    this.#failures = 0;
  }

  #fade(nowMs: number): void {
    const elapsedMs = nowMs - this.#countedAt;
    if (elapsedMs <= 0) return;
    if (this.#batches === 0) {
      this.#countedAt = nowMs;
      return;
    }
    // Called for every batch; counts that have hardly decayed are left as they are.
    if (elapsedMs * fadingsMax < this.#halfLifeMs) return;
    const kept = 2 ** (-elapsedMs / this.#halfLifeMs);
    this.#batches *= kept;
    this.#failures *= kept;
    this.#countedAt = nowMs;
  }
}
