import { expect, test } from 'vitest';
import { DurationTally } from './duration-tally.ts';

test('times are counted and summed in whole nanoseconds', () => {
  const tally = new DurationTally();
  tally.add(0.25);
  tally.add(1.000_000_4);
  tally.add(0);
  expect(tally.duration()).toEqual({ count: 3, ns: 1_250_000n });
});

test('a sum beyond the exact range of a double stays exact', () => {
  const tally = new DurationTally();
  const dayMs = 86_400_000;
  for (let day = 0; day < 1000; day += 1) tally.add(dayMs);
  tally.add(0.000_001);
  expect(tally.ns).toBe(1000n * 86_400_000_000_000n + 1n);
  expect(tally.ns > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true);
});
