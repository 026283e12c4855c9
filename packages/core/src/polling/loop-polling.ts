/**
 * Decides when an event loop asks for events again and again instead of sleeping. Waking up costs tens of microseconds, which is
 * most of what one caller waits for who sends one request after the other. Polling pays only if the next event is near and nobody
 * else wants the core, so it begins after several short waits in a row, ends with the first long one, and pauses where another
 * thread takes the core that is offered to it before each poll.
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
/** An offer of the core that takes this long was accepted by another thread. */
export const takenMsMin = 0.2;
/** So much time that others took within `takenWindowMs` is a busy core. Less are interrupts, and threads that compile code of this process. */
export const takenMsMax = 10;
const takenWindowMs = 100;
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
  #isPolling: boolean = false;
  #takenMs = 0;
  #firstTakenAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pauseMs = pauseMsMin;

  constructor(limits: LoopPollingLimits) {
    this.#limits = limits;
  }

  /** True: poll until `continues` says no. */
  begin(wait: PolledWait, now: number): boolean {
    this.#wait = wait;
    this.#waitBeganAt = now;
    const isAllowed = wait === 'request' || this.#limits.pollsForAnswers;
    this.#isPolling = isAllowed && this.#shortWaits[wait] >= shortWaitsMin && now >= this.#pausedUntil;
    return this.#isPolling;
  }

  /** What was waited for is there. */
  end(now: number): void {
    const wait = this.#wait;
    if (wait === undefined) return;
    this.#shortWaits[wait] = now - this.#waitBeganAt <= this.#limits.waitMsMax ? this.#shortWaits[wait] + 1 : 0;
    this.#stop();
  }

  /** Several requests are in flight: workers may need the core, and it is no longer one caller's. */
  abandon(): void {
    this.#shortWaits.request = 0;
    this.#shortWaits.answer = 0;
    this.#stop();
  }

  /** To be asked after each poll that has found nothing. */
  continues(now: number): boolean {
    const { waitMsMax } = this.#limits;
    this.#isPolling = this.#isPolling && now - this.#waitBeganAt <= waitMsMax && now >= this.#pausedUntil;
    return this.#isPolling;
  }

  /** The core was offered to other threads for so long. */
  offered(beganAt: number, endedAt: number): void {
    const takenMs = endedAt - beganAt;
    if (takenMs < takenMsMin) return;
    if (endedAt - this.#firstTakenAt > takenWindowMs) {
      this.#firstTakenAt = endedAt;
      this.#takenMs = 0;
    }
    this.#takenMs += takenMs;
    if (this.#takenMs >= takenMsMax) this.#pause(endedAt);
  }

  #stop(): void {
    this.#wait = undefined;
    this.#isPolling = false;
  }

  #pause(now: number): void {
    const isSoon = now - this.#pausedUntil <= this.#pauseMs;
    this.#pauseMs = isSoon ? Math.min(2 * this.#pauseMs, pauseMsMax) : pauseMsMin;
    this.#pausedUntil = now + this.#pauseMs;
    this.pauses += 1;
    this.#takenMs = 0;
    this.#firstTakenAt = Number.NEGATIVE_INFINITY;
  }
}
