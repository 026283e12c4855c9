/**
 * Measures the delay of the event loop with a timer of its own: `monitorEventLoopDelay` misses what blocks the loop between a
 * reset and its next sample, which under attack is the sample that matters.
 */
import { createHistogram } from 'node:perf_hooks';
import type { Histogram } from './series.ts';

const loopDelaySampleMs = 10;
/**
 * While the loop has next to nothing to do: a hundred samples a second took a third of the processor time of a server with 10,000
 * idle streams. A block that is shorter than this may be missed then, once; the next samples are close again.
 */
const idleSampleMs = 100;
/** The loop has next to nothing to do when it was busy for no more than this part of a second, until it is for more than the other. */
const idleUtilizationMax = 0.03;
const busyUtilizationMin = 0.05;
const idleCheckMs = 1000;

export interface LoopDelay {
  readonly meanSeconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/** What the sampler needs of its process. */
export interface SampledLoop {
  now(): number;
  /** For how long it has been busy since it began, in milliseconds. */
  busyMs(): number;
  every(intervalMs: number, callback: () => void): () => void;
}

const thisLoop: SampledLoop = {
  now: () => performance.now(),
  busyMs: () => performance.eventLoopUtilization().active,
  every: (intervalMs, callback) => {
    const timer = setInterval(callback, intervalMs).unref();
    return () => clearInterval(timer);
  },
};

export class LoopDelaySampler {
  readonly #histogram: Histogram;
  readonly #loop: SampledLoop;
  #intervalMs = loopDelaySampleMs;
  #stopTimer: () => void;
  #sinceTaken = createHistogram();
  #sampledAtMs: number;
  /** When it was last looked at how busy the loop is, and how long that had been busy by then. */
  #lookedAtMs: number;
  #busyMs: number;

  /** Every delay is also observed by `histogram`, which is never reset. */
  constructor(histogram: Histogram, loop: SampledLoop = thisLoop) {
    this.#histogram = histogram;
    this.#loop = loop;
    this.#sampledAtMs = loop.now();
    this.#lookedAtMs = this.#sampledAtMs;
    this.#busyMs = loop.busyMs();
    this.#stopTimer = loop.every(this.#intervalMs, this.#sample);
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
    this.#stopTimer();
  }

  readonly #sample = (): void => {
    const nowMs = this.#loop.now();
    const lateMs = Math.max(0, nowMs - this.#sampledAtMs - this.#intervalMs);
    this.#sampledAtMs = nowMs;
    const isIdle = this.#intervalMs === idleSampleMs;
    const delayMs = isIdle || nowMs - this.#lookedAtMs >= idleCheckMs ? this.#look(nowMs, lateMs, isIdle) : lateMs;
    this.#histogram.observe(delayMs / 1000);
    // In nanoseconds; the histogram takes no values below 1.
    this.#sinceTaken.record(Math.max(1, Math.round(delayMs * 1e6)));
  };

  /** Chooses how often to sample; returns the delay. */
  #look(nowMs: number, lateMs: number, isIdle: boolean): number {
    const busyMs = this.#loop.busyMs();
    const busySinceMs = busyMs - this.#busyMs;
    const isBusy = busySinceMs > (isIdle ? busyUtilizationMin : idleUtilizationMax) * (nowMs - this.#lookedAtMs);
    this.#lookedAtMs = nowMs;
    this.#busyMs = busyMs;
    if (isBusy === isIdle) {
      this.#intervalMs = isBusy ? loopDelaySampleMs : idleSampleMs;
      this.#stopTimer();
      this.#stopTimer = this.#loop.every(this.#intervalMs, this.#sample);
    }
    // What made a late sample late may have begun long before it was due.
    return isIdle && lateMs > loopDelaySampleMs ? Math.max(lateMs, busySinceMs) : lateMs;
  }
}
