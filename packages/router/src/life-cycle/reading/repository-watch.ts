import type { Clock } from '../../data-plane/clock.ts';
import type { RepositorySource, SourceWatch } from './repository-source.ts';

/** Changes that come close together are handled together. */
const debounceMs = 100;

export interface RepositoryWatchParts {
  readonly source: Pick<RepositorySource, 'watch'>;
  readonly pollMs: number;
  readonly clock: Clock;
  /** Something may have changed. Never called while it is still at work. */
  readonly onChange: () => Promise<void>;
}

/**
 * Calls back soon after a change was reported, and every `pollMs` in any case: network file systems report nothing, and
 * a watch may be lost.
 */
export class RepositoryWatch {
  readonly #parts: RepositoryWatchParts;
  readonly #watch: SourceWatch;
  #cancelNext: (() => void) | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #isAtWork: boolean = false;
  #isStopped: boolean = false;

  constructor(parts: RepositoryWatchParts) {
    this.#parts = parts;
    this.#watch = parts.source.watch(() => this.checkWithin(debounceMs));
  }

  start(): void {
    // Changes between reading the repository and watching it are found by checking at once.
    void this.#watch.refresh().then(() => this.checkWithin(0));
  }

  /** Checks again within so many milliseconds, or earlier. */
  checkWithin(delayMs: number): void {
    const { clock } = this.#parts;
    const at = clock.now() + delayMs;
    if (this.#isStopped || at >= this.#dueAt) return;
    this.#dueAt = at;
    this.#cancelNext?.();
    this.#cancelNext = clock.alarm(delayMs, () => void this.#check());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelNext?.();
    this.#watch.close();
  }

  async #check(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#isAtWork) {
      this.checkWithin(debounceMs);
      return;
    }
    this.#isAtWork = true;
    await this.#watch.refresh();
    await this.#parts.onChange();
    this.#isAtWork = false;
    this.checkWithin(this.#parts.pollMs);
  }
}
