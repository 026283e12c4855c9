/** The clock of stores. Leases outlive processes, so it is the time of day and not the uptime of a process. */
export interface StoreClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once after the delay; returns a function that cancels it. It does not keep the process alive. */
  alarm(delayMs: number, callback: () => void): () => void;
  /** Calls back when the current turn of the event loop is over. */
  endOfTurn(callback: () => void): void;
}

export const systemStoreClock: StoreClock = {
  now: () => Date.now(),
  alarm: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
  endOfTurn: (callback) => void setImmediate(callback),
};
