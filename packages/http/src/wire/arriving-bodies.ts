/** A body that takes longer than this to arrive, or twice the time at most, is moved away. */
const placedMsMax = 1_000;

/** Bytes that are moved before others get a turn; a body is moved in one piece. */
const movedBytesPerTurn = 4 * 1024 * 1024;
const nextTurnMs = 1;

/** Moves a body to other memory; returns how many bytes it copied. */
export type MoveAway = () => number;

/** The placed bodies of a server that are arriving: memory that a worker needs must not wait for a slow sender. */
export class ArrivingBodies {
  readonly #after: (ms: number, callback: () => void) => void;
  /** Those that came since the last sweep, and those from before it. */
  #young = new Set<MoveAway>();
  #old = new Set<MoveAway>();
  /** Those that are to be moved. */
  readonly #late = new Set<MoveAway>();
  #isSweepDue: boolean = false;
  readonly #sweep = (): void => this.#sweepAll();
  readonly #moveMore = (): void => this.#moveSome();

  constructor(after: (ms: number, callback: () => void) => void) {
    this.#after = after;
  }

  /** `moveAway` is called once, unless it is removed before. */
  add(moveAway: MoveAway): void {
    this.#young.add(moveAway);
    this.#sweepSoon();
  }

  remove(moveAway: MoveAway): void {
    if (!this.#young.delete(moveAway) && !this.#old.delete(moveAway)) this.#late.delete(moveAway);
  }

  #sweepSoon(): void {
    if (this.#isSweepDue) return;
    this.#isSweepDue = true;
    this.#after(placedMsMax, this.#sweep);
  }

  #sweepAll(): void {
    this.#isSweepDue = false;
    const isMoving = this.#late.size > 0;
    for (const moveAway of this.#old) this.#late.add(moveAway);
    this.#old = this.#young;
    this.#young = new Set();
    if (!isMoving) this.#moveSome();
    if (this.#old.size > 0) this.#sweepSoon();
  }

  /** Hundreds of megabytes may be late at once. */
  #moveSome(): void {
    let bytes = 0;
    for (const moveAway of this.#late) {
      if (bytes >= movedBytesPerTurn) break;
      this.#late.delete(moveAway);
      bytes += moveAway();
    }
    if (this.#late.size > 0) this.#after(nextTurnMs, this.#moveMore);
  }
}
