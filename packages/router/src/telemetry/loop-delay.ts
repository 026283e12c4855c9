/**
 * Measures the delay of the event loop with a timer of its own: `monitorEventLoopDelay` misses what blocks the loop between a
 * reset and its next sample, which under attack is the sample that matters.
 */
import { createHistogram } from 'node:perf_hooks';
import type { Histogram } from './series.ts';

const loopDelaySampleMs = 10;

export interface LoopDelay {
  readonly meanSeconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

export class LoopDelaySampler {
  readonly #timer: NodeJS.Timeout;
  #sinceTaken = createHistogram();
  #sampledAtMs = performance.now();

  /** Every delay is also observed by `histogram`, which is never reset. */
  constructor(histogram: Histogram) {
    this.#timer = setInterval(() => {
      const now = performance.now();
      const delayMs = Math.max(0, now - this.#sampledAtMs - loopDelaySampleMs);
      this.#sampledAtMs = now;
      histogram.observe(delayMs / 1000);
      // In nanoseconds; the histogram takes no values below 1.
      this.#sinceTaken.record(Math.max(1, Math.round(delayMs * 1e6)));
    }, loopDelaySampleMs).unref();
  }

  /** The delays of the samples since the last call. */
  take(): LoopDelay {
    const { count, mean, max } = this.#sinceTaken;
    const delay = {
      meanSeconds: count === 0 ? 0 : mean / 1e9,
      p99Seconds: count === 0 ? 0 : this.#sinceTaken.percentile(99) / 1e9,
      maxSeconds: max / 1e9,
    };
    this.#sinceTaken.reset();
    return delay;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
