/** Keeps the event loop from sleeping while the next event of one caller's request is near (`LoopPolling` decides, ADR 0116). */
import { LoopPolling, type LoopPollingLimits } from '@millrace/core';
import type { Clock } from './clock.ts';
import type { PendingObserver } from './pending-requests.ts';

export class PolledLoop implements PendingObserver {
  readonly #clock: Pick<Clock, 'now' | 'endOfTurn'>;
  readonly #polling: LoopPolling;
  readonly #yieldCore: () => void;
  /** How often it has polled. */
  polls = 0;
  /** A poll is scheduled: the event loop does not sleep before it. */
  #isScheduled: boolean = false;

  /** `yieldCore` offers the core to other threads, and returns when it has it again. */
  constructor(clock: Pick<Clock, 'now' | 'endOfTurn'>, yieldCore: () => void, limits: LoopPollingLimits) {
    this.#clock = clock;
    this.#yieldCore = yieldCore;
    this.#polling = new LoopPolling(limits);
  }

  /** How often polling was paused. */
  get pauses(): number {
    return this.#polling.pauses;
  }

  added(count: number): void {
    if (count > 2) return;
    if (count === 2) {
      this.#polling.abandon();
      return;
    }
    const now = this.#clock.now();
    this.#polling.end(now);
    if (this.#polling.begin('answer', now)) this.#schedule();
  }

  removed(count: number): void {
    if (count > 0) return;
    const now = this.#clock.now();
    this.#polling.end(now);
    if (this.#polling.begin('request', now)) this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.endOfTurn(this.#poll);
  }

  readonly #poll = (): void => {
    this.#isScheduled = false;
    this.polls += 1;
    const now = this.#clock.now();
    if (!this.#polling.continues(now)) return;
    this.#yieldCore();
    this.#polling.offered(now, this.#clock.now());
    this.#schedule();
  };
}
