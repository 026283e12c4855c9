/** A clock that stands still until a test moves it. */
import type { StoreClock } from '../store-clock.ts';

export class HeldStoreClock implements StoreClock {
  #now: number;
  #alarms: { readonly at: number; readonly callback: () => void }[] = [];

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  alarm(delayMs: number, callback: () => void): () => void {
    const alarm = { at: this.#now + delayMs, callback };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  endOfTurn(callback: () => void): void {
    setImmediate(callback);
  }

  get alarms(): number {
    return this.#alarms.length;
  }

  /** Also backwards; alarms that are due go off. */
  pass(ms: number): void {
    this.#now += ms;
    for (const alarm of this.#alarms.filter(({ at }) => at <= this.#now)) {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
      alarm.callback();
    }
  }
}
