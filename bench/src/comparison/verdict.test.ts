import { expect, test } from 'vitest';
import { type Pair, pairsMin, verdictOn } from './verdict.ts';

/** Pairs with some noise, where the second is by these factors faster and dearer. */
function pairsOf(rate: number, micros: number, count = pairsMin): Pair[] {
  return Array.from({ length: count }, (_, index) => ({
    before: { requestsPerSecond: 1000 + 20 * (index % 3), serverMicros: 50 + (index % 3) },
    after: { requestsPerSecond: (1000 + 20 * ((index + 1) % 3)) * rate, serverMicros: (50 + (index % 2)) * micros },
  }));
}

test('equal servers, and one that is slower by less than the bounds, are no slower', () => {
  expect(verdictOn(pairsOf(1, 1)).outcome).toBe('no slower');
  expect(verdictOn(pairsOf(0.98, 1.02)).outcome).toBe('no slower');
});

test('more processor time a request or less throughput than the bounds allow is slower', () => {
  expect(verdictOn(pairsOf(1, 1.06)).outcome).toBe('slower');
  expect(verdictOn(pairsOf(0.9, 1)).outcome).toBe('slower');
});

test('noise that the interval covers is not slower', () => {
  const noisy = pairsOf(1, 1).map((pair, index) => ({
    ...pair,
    after: { ...pair.after, requestsPerSecond: index % 3 === 0 ? 1000 : 950 },
  }));
  const { rateRatio, rateInterval, outcome } = verdictOn(noisy);
  expect(rateRatio).toBeLessThan(0.97);
  expect(rateInterval[1]).toBeGreaterThanOrEqual(0.97);
  expect(outcome).toBe('no slower');
});

test('fewer than nine pairs give figures and no verdict', () => {
  expect(verdictOn(pairsOf(0.5, 2, pairsMin - 1))).toMatchObject({ outcome: 'too few pairs' });
});

test('the interval is the same for the same measurements', () => {
  expect(verdictOn(pairsOf(1, 1)).rateInterval).toEqual(verdictOn(pairsOf(1, 1)).rateInterval);
});
