/** The part of time that streams need: the system's, since their limits outlive a process. */
export interface StreamClock {
  /** Milliseconds since 1970. */
  wallNow(): number;
  /** Calls back once, early at most by what a timer's resolution is; returns a function that cancels it. */
  alarm(delayMs: number, callback: () => void): () => void;
  /** Milliseconds of the data plane's clock for a time of the wall clock. */
  planeTimeOf(wallMs: number): number;
}
