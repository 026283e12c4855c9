/**
 * Turns of the links of one worker: a link with jobs waits for its turn before each of them, behind the links that wait
 * already. Between two turns the event loop runs, so that messages of all links are read.
 */
export class JobTurns {
  readonly #waiting: (() => void)[] = [];
  #isTaken: boolean = false;

  /** Each is followed by one `pass`. */
  take(): Promise<void> {
    if (this.#isTaken) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#isTaken = true;
    return Promise.resolve();
  }

  pass(): void {
    setImmediate(() => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    });
  }
}
