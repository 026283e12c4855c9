/** Time, timers and randomness of a client, so that tests bring their own. */
export interface ClientClock {
  /** Milliseconds from any beginning. */
  nowMs(): number;
  /** Returns what takes the timer back. */
  setTimer(delayMs: number, callback: () => void): () => void;
  /** From 0 up to 1. */
  random(): number;
}

/** The longest delay that timers of JavaScript take; longer ones fire at once. */
const timerMsMax = 2 ** 31 - 1;

export const platformClock: ClientClock = {
  nowMs: () => performance.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(timerMsMax, Math.max(0, delayMs)));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
