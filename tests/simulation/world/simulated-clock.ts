/** The clock of the shell, over the virtual time. Timers of real clocks fire a little early at times, and so do these. */
import type { Clock } from '@millrace/router/internal';
import type { SimulationRandom } from './random.ts';
import type { Timeline } from './timeline.ts';

export class SimulatedClock implements Clock {
  readonly #timeline: Timeline;
  readonly #random: SimulationRandom;
  readonly #earlyTimer: number;

  constructor(timeline: Timeline, random: SimulationRandom, earlyTimer: number) {
    this.#timeline = timeline;
    this.#random = random;
    this.#earlyTimer = earlyTimer;
  }

  now(): number {
    return this.#timeline.nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const isEarly = this.#random.chance(this.#earlyTimer);
    const appointment = this.#timeline.after(delayMs - (isEarly ? this.#random.next() : 0), callback);
    return () => {
      appointment.isCancelled = true;
    };
  }

  alarm(delayMs: number, callback: () => void): () => void {
    return this.after(delayMs, callback);
  }

  /** Whatever else is due at this moment belongs to the same turn of the event loop. */
  endOfTurn(callback: () => void): void {
    this.#timeline.after(0, callback);
  }
}
