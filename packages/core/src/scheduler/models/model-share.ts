/**
 * Deficit round robin between models that want the same workers. The cost of a batch is the worker time it takes, since
 * a row of one model may cost a thousand times that of another. The time is known only afterwards: a batch is charged
 * by what the model's rows took before, and corrected when it has ended.
 */
export class ModelShare {
  weight: number;
  /** Milliseconds of worker time it may use before the others get theirs; below 0 it waits for the next rounds. */
  balanceMs = 0;
  #rowMs = 0;
  #isContended: boolean = false;

  constructor(weight: number) {
    this.weight = weight;
  }

  get isInCredit(): boolean {
    return this.balanceMs >= 0;
  }

  /** Rounds until its balance is positive; 0 when it is. */
  roundsToCredit(quantumMs: number): number {
    return Math.max(0, Math.ceil(-this.balanceMs / (quantumMs * this.weight)));
  }

  addRounds(rounds: number, quantumMs: number): void {
    this.balanceMs += rounds * quantumMs * this.weight;
  }

  /**
   * Whether other models want the worker that the next batch is dispatched to. If none does, the batch is free of
   * charge, and earlier debt is cancelled.
   */
  setContended(isContended: boolean): void {
    this.#isContended = isContended;
    if (!isContended && this.balanceMs < 0) this.balanceMs = 0;
  }

  /** Charges a batch that is about to run; returns the charge, or `free`. */
  charge(rows: number): number {
    if (!this.#isContended) return free;
    const chargedMs = rows * this.#rowMs;
    this.balanceMs -= chargedMs;
    return chargedMs;
  }

  /** The batch ended after `ranMs`, 0 when it never ran. */
  settle(chargedMs: number, ranMs: number, rows: number): void {
    if (chargedMs !== free) this.balanceMs += chargedMs - ranMs;
    if (ranMs > 0) this.#rowMs += (ranMs / rows - this.#rowMs) * learningRate;
  }
}

const free = -1;

/** Weight of the newest batch in the estimated cost of a row. */
const learningRate = 0.125;
