import { TimingWheel, type WheelClock, type WheelEntry } from '../wire/timing-wheel.ts';

/** Resolution of deadlines. */
const deadlineTickMs = 20;

/** The deadlines of all calls on one timing wheel, which ticks only while there are any. */
export class Deadlines {
  readonly #clock: WheelClock;
  readonly #wheel: TimingWheel;
  #interval: NodeJS.Timeout | undefined = undefined;

  constructor(clock: WheelClock = { nowMs: () => performance.now() }) {
    this.#clock = clock;
    this.#wheel = new TimingWheel(clock, deadlineTickMs);
  }

  get count(): number {
    return this.#wheel.count;
  }

  set(entry: WheelEntry, timeoutMs: number): void {
    if (this.#interval === undefined) {
      this.#wheel.advance();
      this.#interval = setInterval(() => this.tick(), deadlineTickMs).unref();
    }
    this.#wheel.set(entry, this.#clock.nowMs() + timeoutMs);
  }

  clear(entry: WheelEntry): void {
    this.#wheel.clear(entry);
  }

  /** Wakes what is due; stops ticking when nothing is left. */
  tick(): void {
    this.#wheel.advance();
    if (this.#wheel.count > 0) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
  }
}
