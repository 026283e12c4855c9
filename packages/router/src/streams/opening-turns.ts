/**
 * Spreads the new streams of a caller over turns of the event loop. One commit of the journal may have made the logs of hundreds of
 * them, and to set up and answer all of these in the turn in which it ends would hold up everybody else for that long.
 */
import type { Clock } from '../data-plane/clock.ts';

/** Of one caller; each takes 0.1 to 0.4 ms. */
export const openingsPerTurnMax = 8;

interface CallerOpenings {
  /** In this turn. */
  opened: number;
  readonly waiting: (() => void)[];
}

export class OpeningTurns {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  /** Those that opened streams in this turn. */
  readonly #callers = new Map<string, CallerOpenings>();

  constructor(clock: Pick<Clock, 'endOfTurn'>) {
    this.#clock = clock;
  }

  /** Resolves when the caller may open one more stream, in order; undefined: now. */
  wait(caller: string): Promise<void> | undefined {
    if (this.#callers.size === 0) this.#clock.endOfTurn(this.#nextTurn);
    const openings = this.#callers.get(caller) ?? { opened: 0, waiting: [] };
    this.#callers.set(caller, openings);
    if (openings.opened >= openingsPerTurnMax) return new Promise((resolve) => openings.waiting.push(resolve));
    openings.opened += 1;
    return undefined;
  }

  readonly #nextTurn = (): void => {
    for (const [caller, openings] of this.#callers) {
      const next = openings.waiting.splice(0, openingsPerTurnMax);
      openings.opened = next.length;
      if (next.length === 0) this.#callers.delete(caller);
      for (const resolve of next) resolve();
    }
    if (this.#callers.size > 0) this.#clock.endOfTurn(this.#nextTurn);
  };
}
