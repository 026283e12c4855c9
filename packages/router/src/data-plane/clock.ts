/** The router's time source, passed in so that tests can control it. */
export interface Clock {
  /** Milliseconds, monotonic, with a fraction. */
  now(): number;
  /** Calls back once after the delay; returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  /** The same, but it does not keep the process alive, and one with a delay of more than 24 days may fire early. */
  alarm(delayMs: number, callback: () => void): () => void;
  /** Calls back once, after the events of the current turn of the event loop. */
  endOfTurn(callback: () => void): void;
}

const timerMsMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  alarm: (delayMs, callback) => {
    // A delay beyond the limit of timers fires early; whoever set it checks the time and sets it again.
    const timer = setTimeout(callback, Math.min(delayMs, timerMsMax)).unref();
    return () => clearTimeout(timer);
  },
  endOfTurn: (callback) => {
    setImmediate(callback);
  },
};
