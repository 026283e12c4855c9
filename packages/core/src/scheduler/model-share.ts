/**
 * Deficit round robin between models that want the same workers. What a model uses up is the time that workers spend on
 * it, since a row of one model may cost a thousand times that of another. A batch's time is known only afterwards: it is
 * charged by what the model's rows took before, and set right when the batch has ended.
 */
export class ModelShare {
  weight: number;
  /** Milliseconds of worker time it may use before the others have theirs; below 0 it waits for the next rounds. */
  balanceMs = 0;
  #rowMs = 0;

  constructor(weight: number) {
    this.weight = weight;
  }

  get isInCredit(): boolean {
    return this.balanceMs >= 0;
  }

  /** Rounds that bring it into credit; 0 when it is. */
  roundsToCredit(quantumMs: number): number {
    return Math.max(0, Math.ceil(-this.balanceMs / (quantumMs * this.weight)));
  }

  addRounds(rounds: number, quantumMs: number): void {
    this.balanceMs += rounds * quantumMs * this.weight;
  }

  /** Nobody else wants the worker: what it owes to others is forgiven. */
  forgive(): void {
    if (this.balanceMs < 0) this.balanceMs = 0;
  }

  /** Charges a batch that is about to run; returns what for. */
  charge(rows: number): number {
    const chargedMs = rows * this.#rowMs;
    this.balanceMs -= chargedMs;
    return chargedMs;
  }

  /** The batch ended after `ranMs`, 0 when it never ran. */
  settle(chargedMs: number, ranMs: number, rows: number, quantumMs: number): void {
    this.balanceMs = Math.min(this.balanceMs + chargedMs - ranMs, quantumMs * this.weight);
    if (ranMs > 0) this.#rowMs += (ranMs / rows - this.#rowMs) * learningRate;
  }
}

/** How much the newest batch counts in what a row is taken to cost. */
const learningRate = 0.125;
