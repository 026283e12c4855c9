import { expect, test } from 'vitest';
import { LoopDelaySampler, type SampledLoop } from './loop-delay.ts';
import { Histogram } from './series.ts';

test('an event loop blocked right after a reading shows in the next one, and in the histogram', async () => {
  const histogram = new Histogram(Float64Array.of(0.05));
  const sampler = new LoopDelaySampler(histogram);
  expect(sampler.take()).toEqual({ meanSeconds: 0, p99Seconds: 0, maxSeconds: 0 });
  const heldUntil = performance.now() + 120;
  while (performance.now() < heldUntil);
  while (histogram.count === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(histogram.counts[1]).toBeGreaterThan(0);
  const { meanSeconds, p99Seconds, maxSeconds } = sampler.take();
  expect(maxSeconds).toBeGreaterThan(0.1);
  // The histogram has a resolution of a thousandth.
  expect(p99Seconds).toBeLessThanOrEqual(maxSeconds * 1.001);
  expect(meanSeconds).toBeLessThanOrEqual(maxSeconds);
  sampler.stop();
});

/** A loop whose time passes when the test says so. */
class HeldLoop implements SampledLoop {
  intervalMs = 0;
  #nowMs = 0;
  #busyMs = 0;
  #callback = (): void => {};

  now(): number {
    return this.#nowMs;
  }

  busyMs(): number {
    return this.#busyMs;
  }

  every(intervalMs: number, callback: () => void): () => void {
    this.intervalMs = intervalMs;
    this.#callback = callback;
    return () => {};
  }

  /** Samples for so long, while it is busy for this part of the time. */
  pass(ms: number, utilization: number): void {
    for (const end = this.#nowMs + ms; this.#nowMs < end; ) this.sample(0, utilization * this.intervalMs);
  }

  /** The next sample comes so late, after the loop was busy for so long. */
  sample(lateMs: number, busyMs: number): void {
    this.#nowMs += this.intervalMs + lateMs;
    this.#busyMs += busyMs;
    this.#callback();
  }
}

test('an idle loop is sampled less often, and as before as soon as it has something to do', () => {
  const loop = new HeldLoop();
  const sampler = new LoopDelaySampler(new Histogram(Float64Array.of(0.05)), loop);
  expect(loop.intervalMs).toBe(10);
  loop.pass(2000, 0.5);
  expect(loop.intervalMs).toBe(10);
  loop.pass(1000, 0.02);
  expect(loop.intervalMs).toBe(100);
  loop.pass(5000, 0.04);
  expect(loop.intervalMs).toBe(100);
  loop.sample(0, 6);
  expect(loop.intervalMs).toBe(10);
  expect(sampler.take().maxSeconds).toBeLessThan(0.001);
});

test('a block of an idle loop counts from its beginning, before the sample was due', () => {
  const loop = new HeldLoop();
  const sampler = new LoopDelaySampler(new Histogram(Float64Array.of(0.05)), loop);
  loop.pass(2000, 0);
  expect(loop.intervalMs).toBe(100);
  sampler.take();
  loop.sample(70, 150);
  expect(sampler.take().maxSeconds).toBeCloseTo(0.15, 3);
});
