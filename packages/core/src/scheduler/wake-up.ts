/**
 * When to be woken next. It speaks only when the time asked for before has come or is too late: a waking that finds
 * nothing to do is cheaper than a timer set anew for every request.
 */
export class WakeUp {
  #askedAt = Number.POSITIVE_INFINITY;

  /** The caller woke, be it early: timers of real clocks may be. What was asked for counts no more. */
  woken(): void {
    this.#askedAt = Number.POSITIVE_INFINITY;
  }

  /** The time to ask for; undefined when the last one asked for will do. `dueAt` is Infinity when nothing is due. */
  takeTime(dueAt: number, nowMs: number): number | undefined {
    if (this.#askedAt <= nowMs) this.#askedAt = Number.POSITIVE_INFINITY;
    if (dueAt >= this.#askedAt) return undefined;
    this.#askedAt = dueAt;
    return dueAt;
  }
}
