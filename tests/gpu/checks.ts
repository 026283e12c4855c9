/** Checks run one after another: a failed one is reported, and the next still runs. */
export class Checks {
  #passed = 0;
  #failed = 0;

  get failed(): number {
    return this.#failed;
  }

  /** `run` resolves with what was seen, and rejects with what is wrong. */
  async check(claim: string, run: () => Promise<string>): Promise<void> {
    try {
      console.log(`ok      ${claim}: ${await run()}`);
      this.#passed += 1;
    } catch (error) {
      console.log(`FAILED  ${claim}: ${error instanceof Error ? error.message : String(error)}`);
      this.#failed += 1;
    }
  }

  toString(): string {
    return `${this.#passed} passed, ${this.#failed} failed`;
  }
}
