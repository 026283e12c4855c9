/** Time as the router sees it, passed in so that tests can hold it still. */
export interface Clock {
  /** Milliseconds, monotonic, with a fraction. */
  now(): number;
  /** Calls back once after the delay; returns the way to call it off. */
  after(delayMs: number, callback: () => void): () => void;
  /** The same, but a process that waits for nothing else may end before it, and one for a far time may come early. */
  alarm(delayMs: number, callback: () => void): () => void;
  /** Calls back once, after what the current turn of the event loop has brought in. */
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
    // One that is set for later than timers can count fires early, and is then set anew by whoever asked for it.
    const timer = setTimeout(callback, Math.min(delayMs, timerMsMax)).unref();
    return () => clearTimeout(timer);
  },
  endOfTurn: (callback) => {
    setImmediate(callback);
  },
};
