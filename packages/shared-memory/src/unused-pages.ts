/**
 * Which pages of an arena go back to the system. Once written, pages of shared memory stay until the worker ends: without this, one burst of large
 * requests costs all of the arena for as long as the worker lives. Ranges are lent from low addresses, so what is needed lies at the beginning.
 */

/** Checks in which memory was not needed before it goes, at least: load that pauses for a moment finds its pages. */
export const checksPerPeriod = 6;
/** At most so much goes at one check, which takes the thread about a millisecond. */
export const bytesPerCheck: number = 16 * 1024 * 1024;

export class UnusedPages {
  readonly #discard: (offset: number, bytes: number) => void;
  readonly #pageBytes: number;
  /** Pages behind it are not in memory. */
  #touchedBytes = 0;
  /** What was needed since the current period began, and in the period before it. */
  #neededBytes = 0;
  #neededBeforeBytes = 0;
  #checks = 0;

  /** `discard` gets whole pages. */
  constructor(discard: (offset: number, bytes: number) => void, pageBytes: number) {
    this.#discard = discard;
    this.#pageBytes = pageBytes;
  }

  /** `peakBytes`: nothing behind it was lent since the last check. */
  check(peakBytes: number): void {
    const peak = Math.ceil(peakBytes / this.#pageBytes) * this.#pageBytes;
    this.#touchedBytes = Math.max(this.#touchedBytes, peak);
    this.#neededBytes = Math.max(this.#neededBytes, peak);
    const kept = Math.max(this.#neededBytes, this.#neededBeforeBytes);
    this.#checks += 1;
    if (this.#checks === checksPerPeriod) {
      this.#neededBeforeBytes = this.#neededBytes;
      this.#neededBytes = 0;
      this.#checks = 0;
    }
    if (this.#touchedBytes <= kept) return;
    const from = Math.max(kept, this.#touchedBytes - bytesPerCheck);
    this.#discard(from, this.#touchedBytes - from);
    this.#touchedBytes = from;
  }
}
