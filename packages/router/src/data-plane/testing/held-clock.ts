/** A clock for tests: time passes, and turns of the event loop end, only when the test says so. */
import type { Clock } from '../clock.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

export class HeldClock implements Clock {
  #now = 1000;
  readonly #timers = new Set<Timer>();
  #turnEnds: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  alarm(delayMs: number, callback: () => void): () => void {
    return this.after(delayMs, callback);
  }

  endOfTurn(callback: () => void): void {
    this.#turnEnds.push(callback);
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Ends this turn only: callbacks that it adds wait for the next one. */
  endOneTurn(): void {
    const ending = this.#turnEnds;
    this.#turnEnds = [];
    for (const callback of ending) callback();
  }

  /** Ends the turn, and the turns that its callbacks start. */
  endTurn(): void {
    while (this.#turnEnds.length > 0) this.endOneTurn();
  }

  /** Lets time pass; timers fire at their times, each in a turn of its own. */
  advance(ms: number): void {
    const end = this.#now + ms;
    this.endTurn();
    for (let next = this.#nextBy(end); next !== undefined; next = this.#nextBy(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      this.endTurn();
    }
    this.#now = end;
  }

  #nextBy(end: number): Timer | undefined {
    let soonest: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && (soonest === undefined || timer.at < soonest.at)) soonest = timer;
    }
    return soonest;
  }
}
