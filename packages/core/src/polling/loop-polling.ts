/**
 * Decides when an event loop asks for events again and again instead of sleeping. Waking up costs tens of microseconds, which is
 * most of what one caller waits for who sends one request after the other. Polling pays only if the next event is near and nobody
 * else wants the core, so it begins after several short waits in a row, ends with the first long one, and pauses when polls are
 * late: then another thread had the core meanwhile.
 */

/** What is waited for: the next request while none is in flight, or the answer to the only one. */
export type PolledWait = 'request' | 'answer';

export interface LoopPollingLimits {
  /** Longer waits are not worth polling, and no wait is polled for longer. */
  readonly waitMsMax: number;
  /** Whether the answer is waited for as well: only where workers can run on other cores meanwhile. */
  readonly pollsForAnswers: boolean;
}

/** Short waits of a kind in a row before it is polled for. */
export const shortWaitsMin = 8;
/** A poll that comes later than this after the last one is late. */
export const lateMsMin = 0.2;
/** Late polls that take so much of `lateWindowMs` together are a busy core. Less is collected garbage, or compiled code, of this process. */
export const lostMsMax = 10;
const lateWindowMs = 100;
/** The first pause; each one that follows soon is twice as long. */
export const pauseMsMin = 1000;
export const pauseMsMax = 60_000;

export class LoopPolling {
  readonly #limits: LoopPollingLimits;
  /** How often polling was paused. */
  pauses = 0;
  #wait: PolledWait | undefined = undefined;
  #waitBeganAt = 0;
  readonly #shortWaits: Record<PolledWait, number> = { request: 0, answer: 0 };
  #polledAt = Number.NaN;
  #lostMs = 0;
  #firstLateAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pauseMs = pauseMsMin;

  constructor(limits: LoopPollingLimits) {
    this.#limits = limits;
  }

  /** True: poll until `continues` says no. */
  begin(wait: PolledWait, now: number): boolean {
    this.#wait = wait;
    this.#waitBeganAt = now;
    this.#polledAt = Number.NaN;
    if (this.#shortWaits[wait] < shortWaitsMin || now < this.#pausedUntil) return false;
    if (wait === 'answer' && !this.#limits.pollsForAnswers) return false;
    this.#polledAt = now;
    return true;
  }

  /** What was waited for is there. */
  end(now: number): void {
    const wait = this.#wait;
    if (wait === undefined) return;
    this.#noteDelay(now);
    this.#shortWaits[wait] = now - this.#waitBeganAt <= this.#limits.waitMsMax ? this.#shortWaits[wait] + 1 : 0;
    this.#stop();
  }

  /** Several requests are in flight: their events keep the loop awake, and workers may need the core. */
  abandon(): void {
    this.#shortWaits.request = 0;
    this.#shortWaits.answer = 0;
    this.#stop();
  }

  /** To be asked after each poll that has found nothing. */
  continues(now: number): boolean {
    if (this.#wait === undefined || Number.isNaN(this.#polledAt)) return false;
    this.#noteDelay(now);
    if (now - this.#waitBeganAt <= this.#limits.waitMsMax && now >= this.#pausedUntil) return true;
    this.#polledAt = Number.NaN;
    return false;
  }

  #stop(): void {
    this.#wait = undefined;
    this.#polledAt = Number.NaN;
  }

  #noteDelay(now: number): void {
    if (Number.isNaN(this.#polledAt)) return;
    const delayMs = now - this.#polledAt;
    this.#polledAt = now;
    if (delayMs < lateMsMin) return;
    if (now - this.#firstLateAt > lateWindowMs) {
      this.#firstLateAt = now;
      this.#lostMs = 0;
    }
    this.#lostMs += delayMs;
    if (this.#lostMs >= lostMsMax) this.#pause(now);
  }

  #pause(now: number): void {
    const isSoon = now - this.#pausedUntil <= this.#pauseMs;
    this.#pauseMs = isSoon ? Math.min(2 * this.#pauseMs, pauseMsMax) : pauseMsMin;
    this.#pausedUntil = now + this.#pauseMs;
    this.pauses += 1;
    this.#lostMs = 0;
    this.#firstLateAt = Number.NEGATIVE_INFINITY;
  }
}
