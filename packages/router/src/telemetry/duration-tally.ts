/** The sum that is kept as a number stays below what a double holds exactly. */
const looseNsMax = 2 ** 51;

/** Sums times as whole nanoseconds, exactly, for as long as a server runs: 64 busy workers fill a double in two days. */
import type { Duration } from '../management/statistics.ts';
export class DurationTally {
  count = 0;
  #looseNs = 0;
  #ns = 0n;

  add(ms: number): void {
    this.count += 1;
    this.#looseNs += Math.round(ms * 1e6);
    if (this.#looseNs < looseNsMax) return;
    this.#ns += BigInt(this.#looseNs);
    this.#looseNs = 0;
  }

  get ns(): bigint {
    return this.#ns + BigInt(this.#looseNs);
  }

  duration(): Duration {
    return { count: this.count, ns: this.ns };
  }
}
