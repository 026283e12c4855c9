import fc from 'fast-check';
import { expect, test } from 'vitest';
import { latencyBucketsSeconds } from './latency-buckets.ts';
import { Counter, Gauge, Histogram } from './series.ts';

test('a counter adds and a gauge goes both ways', () => {
  const counter = new Counter();
  counter.add(2);
  counter.add(0.5);
  expect(counter.value).toBe(2.5);
  const gauge = new Gauge();
  gauge.set(5);
  gauge.add(-7);
  expect(gauge.value).toBe(-2);
});

test('an observation falls into the first bucket whose bound is not below it', () => {
  const histogram = new Histogram(Float64Array.of(1, 2, 4));
  for (const value of [0, 1, 1.0001, 2, 4, 4.0001, Number.POSITIVE_INFINITY]) histogram.observe(value);
  expect([...histogram.counts]).toEqual([2, 2, 1, 2]);
  expect(histogram.count).toBe(7);
});

test('every value falls into the bucket that a linear search finds', () => {
  const bounds = Float64Array.from(latencyBucketsSeconds);
  const value = fc.oneof(fc.double({ min: 0, max: 120, noNaN: true }), fc.constantFrom(...latencyBucketsSeconds));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 50 }), (values) => {
      const histogram = new Histogram(bounds);
      const expected = new Array<number>(bounds.length + 1).fill(0);
      for (const observed of values) {
        histogram.observe(observed);
        const index = latencyBucketsSeconds.findIndex((bound) => observed <= bound);
        const at = index === -1 ? bounds.length : index;
        expected[at] = (expected[at] ?? 0) + 1;
      }
      expect([...histogram.counts]).toEqual(expected);
      expect(histogram.count).toBe(values.length);
      expect(histogram.sum).toBeCloseTo(
        values.reduce((sum, one) => sum + one, 0),
        6,
      );
    }),
    { seed: 20, numRuns: 200 },
  );
});
