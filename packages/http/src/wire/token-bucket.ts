/**
 * Limits events that are harmless now and then and an attack in large numbers: a burst is free, then a rate applies.
 */
export class TokenBucket {
  readonly #burstMax: number;
  readonly #perSecond: number;
  #tokens: number;
  #filledMs: number;

  constructor(burstMax: number, perSecond: number, nowMs: number) {
    this.#burstMax = burstMax;
    this.#perSecond = perSecond;
    this.#tokens = burstMax;
    this.#filledMs = nowMs;
  }

  /** Takes one token; false when there is none. */
  spend(nowMs: number): boolean {
    if (nowMs > this.#filledMs) {
      this.refund(((nowMs - this.#filledMs) * this.#perSecond) / 1000);
      this.#filledMs = nowMs;
    }
    this.#tokens -= 1;
    return this.#tokens >= 0;
  }

  /** Useful work earns tokens back. */
  refund(tokens: number): void {
    this.#tokens = Math.min(this.#burstMax, this.#tokens + tokens);
  }
}
