/**
 * Streams of this router whose last entries may be in the journal or not. They are taken over again, which tells: what was
 * kept goes on or expires in its time, and a log without an opening is removed. Otherwise they would lie there until they expire.
 */
export interface LostStreamsParts {
  readonly clock: { alarm(delayMs: number, callback: () => void): () => void };
  /** Takes the stream over. */
  readonly restore: (id: string) => Promise<unknown>;
}

const pauseMsMin = 1000;
const pauseMsMax = 60_000;
const triesMax = 12;
const atOnceMax = 64;

export class LostStreams {
  readonly #parts: LostStreamsParts;
  readonly #lost = new Map<string, number>();
  #cancelAlarm: (() => void) | undefined;
  #isStopped: boolean = false;

  constructor(parts: LostStreamsParts) {
    this.#parts = parts;
  }

  add(id: string): void {
    this.#lost.set(id, 0);
    this.#tryLater(pauseMsMin);
  }

  /** The router leaves: whoever comes next takes them over. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelAlarm?.();
  }

  #tryLater(pauseMs: number): void {
    if (this.#cancelAlarm !== undefined || this.#lost.size === 0 || this.#isStopped) return;
    this.#cancelAlarm = this.#parts.clock.alarm(pauseMs, () => {
      this.#cancelAlarm = undefined;
      void this.#tryAll(pauseMs);
    });
  }

  async #tryAll(pauseMs: number): Promise<void> {
    const waiting = [...this.#lost.keys()].values();
    const trySome = async (): Promise<void> => {
      for (const id of waiting) await this.#try(id);
    };
    await Promise.all(Array.from({ length: atOnceMax }, trySome));
    this.#tryLater(Math.min(2 * pauseMs, pauseMsMax));
  }

  async #try(id: string): Promise<void> {
    if (this.#isStopped) return;
    const tries = (this.#lost.get(id) ?? 0) + 1;
    this.#lost.delete(id);
    try {
      await this.#parts.restore(id);
    } catch {
      // After these a client that resumes it takes it over.
      if (tries < triesMax) this.#lost.set(id, tries);
    }
  }
}
