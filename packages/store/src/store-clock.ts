/** Time as stores see it. Leases outlive processes, so it is the time of day and not the age of a process. */
export interface StoreClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once after the delay; returns the way to call it off. A process that waits for nothing else may end before it. */
  alarm(delayMs: number, callback: () => void): () => void;
}

export const systemStoreClock: StoreClock = {
  now: () => Date.now(),
  alarm: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
