/** Statistics of a number of consecutive batches. A window is filled, evaluated and started again. */
export class BatchWindow {
  readonly batchesMax: number;
  readonly #latenciesMs: number[] = [];
  #rows = 0;
  #fullCount = 0;
  #beganAt = Number.NaN;
  #endedAt = Number.NaN;

  constructor(batchesMax: number) {
    this.batchesMax = batchesMax;
  }

  get isComplete(): boolean {
    return this.#latenciesMs.length >= this.batchesMax;
  }

  /** `isFull`: the batch had as many rows as allowed, so that more were probably waiting. */
  add(rows: number, latencyMs: number, isFull: boolean, nowMs: number): void {
    if (this.#latenciesMs.length === 0) this.#beganAt = nowMs;
    this.#endedAt = nowMs;
    this.#latenciesMs.push(latencyMs);
    // The first batch ends as the window begins: its rows were run before.
    if (this.#latenciesMs.length > 1) this.#rows += rows;
    if (isFull) this.#fullCount += 1;
  }

  /** Most batches were as large as allowed: the limit restricts the model, not the load. */
  get isSaturated(): boolean {
    return 2 * this.#fullCount > this.#latenciesMs.length;
  }

  /** Rows per millisecond; 0 when no time has passed. */
  get rowsPerMs(): number {
    const elapsedMs = this.#endedAt - this.#beganAt;
    return elapsedMs > 0 ? this.#rows / elapsedMs : 0;
  }

  /** The 99th percentile of the batches' latency. */
  p99Ms(): number {
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    return sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0;
  }

  clear(): void {
    this.#latenciesMs.length = 0;
    this.#rows = 0;
    this.#fullCount = 0;
  }
}
