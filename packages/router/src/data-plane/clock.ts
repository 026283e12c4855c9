/** Time as the router sees it, passed in so that tests can hold it still. */
export interface Clock {
  /** Milliseconds, monotonic, with a fraction. */
  now(): number;
  /** Calls back once after the delay; returns the way to call it off. */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back once, after what the current turn of the event loop has brought in. */
  endOfTurn(callback: () => void): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  endOfTurn: (callback) => {
    setImmediate(callback);
  },
};
