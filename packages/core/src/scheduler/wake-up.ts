/**
 * When to be woken next. A new time is requested only when the one requested before has passed or is too late: a
 * wake-up with nothing to do is cheaper than a new timer for every request.
 */
export class WakeUp {
  #askedAt = Number.POSITIVE_INFINITY;

  /** The caller woke, maybe early, as real timers may. The time requested before no longer counts. */
  woken(): void {
    this.#askedAt = Number.POSITIVE_INFINITY;
  }

  /** The time to request; undefined when the last one requested is enough. `dueAt` is Infinity when nothing is due. */
  takeTime(dueAt: number, nowMs: number): number | undefined {
    if (this.#askedAt <= nowMs) this.#askedAt = Number.POSITIVE_INFINITY;
    if (dueAt >= this.#askedAt) return undefined;
    this.#askedAt = dueAt;
    return dueAt;
  }
}
