/**
 * Counts what happens again and again for the same reason, so that a log tells of it rarely: the first time, the second,
 * the fourth, the eighth and so on.
 */
export class RepeatedReasons {
  readonly #seen = new Map<string, { readonly reason: string; readonly times: number }>();

  /** How many times in a row it has happened to `what` for this reason; undefined: that is not worth a line. */
  takeTimes(what: string, reason: string): number | undefined {
    const before = this.#seen.get(what);
    const times = before?.reason === reason ? before.times + 1 : 1;
    this.#seen.set(what, { reason, times });
    return Number.isInteger(Math.log2(times)) ? times : undefined;
  }

  /** It went well, or is gone: the next time counts as the first. */
  forget(what: string): void {
    this.#seen.delete(what);
  }
}
