/** A body that takes longer than this to arrive, or twice the time at most, is moved away. */
const placedMsMax = 1_000;

/** The placed bodies of a server that are arriving: memory that a worker needs must not wait for a slow sender. */
export class ArrivingBodies {
  readonly #after: (ms: number, callback: () => void) => void;
  /** Those that came since the last sweep, and those from before it. */
  #young = new Set<() => void>();
  #old = new Set<() => void>();
  #isSweepDue: boolean = false;
  readonly #sweep = (): void => this.#sweepAll();

  constructor(after: (ms: number, callback: () => void) => void) {
    this.#after = after;
  }

  /** `moveAway` is called once, unless it is removed before. */
  add(moveAway: () => void): void {
    this.#young.add(moveAway);
    this.#sweepSoon();
  }

  remove(moveAway: () => void): void {
    if (!this.#young.delete(moveAway)) this.#old.delete(moveAway);
  }

  #sweepSoon(): void {
    if (this.#isSweepDue) return;
    this.#isSweepDue = true;
    this.#after(placedMsMax, this.#sweep);
  }

  #sweepAll(): void {
    this.#isSweepDue = false;
    const late = this.#old;
    this.#old = this.#young;
    this.#young = new Set();
    for (const moveAway of late) moveAway();
    if (this.#old.size > 0) this.#sweepSoon();
  }
}
