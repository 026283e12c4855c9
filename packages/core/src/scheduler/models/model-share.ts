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
  #isContended: boolean = false;

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

  /**
   * Whether the next batch is one that others would have liked to go before. One that nobody else wanted the worker for
   * costs nothing, and what is owed from before is forgiven.
   */
  setContended(isContended: boolean): void {
    this.#isContended = isContended;
    if (!isContended && this.balanceMs < 0) this.balanceMs = 0;
  }

  /** Charges a batch that is about to run; returns what for: `free` when for nothing. */
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

/** How much the newest batch counts in what a row is taken to cost. */
const learningRate = 0.125;
