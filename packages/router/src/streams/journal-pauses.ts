/** Streams that wait for their owner's share of the journal: they look again now and then. */

export interface PausedStream {
  /** Goes on if there is room again. */
  lookForShare(): void;
}

const lookMs = 100;

export class JournalPauses {
  readonly #clock: { alarm(delayMs: number, callback: () => void): () => void };
  readonly #paused = new Set<PausedStream>();
  #isLooking: boolean = false;

  constructor(clock: { alarm(delayMs: number, callback: () => void): () => void }) {
    this.#clock = clock;
  }

  add(stream: PausedStream): void {
    this.#paused.add(stream);
    this.#lookLater();
  }

  remove(stream: PausedStream): void {
    this.#paused.delete(stream);
  }

  #lookLater(): void {
    if (this.#isLooking || this.#paused.size === 0) return;
    this.#isLooking = true;
    this.#clock.alarm(lookMs, () => {
      this.#isLooking = false;
      // What one of them appends is counted before the next looks. Those that wait longest come first.
      for (const stream of [...this.#paused]) stream.lookForShare();
      this.#lookLater();
    });
  }
}
