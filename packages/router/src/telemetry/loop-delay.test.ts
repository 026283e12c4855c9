import { expect, test } from 'vitest';
import { LoopDelaySampler } from './loop-delay.ts';
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
