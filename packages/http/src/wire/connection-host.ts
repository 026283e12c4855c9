/** What the connections of one server share. */
import type { HttpLimits } from './config.ts';
import { OutputArena } from './output.ts';
import { type Clock, TimingWheel } from './timing-wheel.ts';
import type { Connection } from './transport.ts';
import type { WireHandler } from './wire-exchange.ts';

export interface ConnectionHost {
  readonly limits: HttpLimits;
  readonly wheel: TimingWheel;
  readonly arena: OutputArena;
  readonly handler: WireHandler;
  /** The value of a `date` field now. */
  dateNow(): string;
  /** Has the connection flushed when the current tick's work is done. */
  flushLater(connection: Connection): void;
}

/** The host of a live server: real time, and flushes at the end of the tick. */
export class SharedHost implements ConnectionHost {
  readonly limits: HttpLimits;
  readonly wheel: TimingWheel;
  readonly arena = new OutputArena();
  readonly handler: WireHandler;
  #second = 0;
  #date = '';
  #waiting: Connection[] = [];
  readonly #flushWaiting = () => this.#flushAll();

  constructor(limits: HttpLimits, handler: WireHandler, clock: Clock = { nowMs: () => performance.now() }) {
    this.limits = limits;
    this.wheel = new TimingWheel(clock);
    this.handler = handler;
  }

  dateNow(): string {
    const now = Date.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = new Date(now).toUTCString();
    }
    return this.#date;
  }

  flushLater(connection: Connection): void {
    this.#waiting.push(connection);
    if (this.#waiting.length === 1) process.nextTick(this.#flushWaiting);
  }

  #flushAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const connection of waiting) connection.flush();
  }
}
