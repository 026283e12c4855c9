import { expect, test } from 'vitest';
import { medianInterval, xorshift } from './bootstrap.ts';

/** Normally distributed with mean 0 and deviation 1, by the sum of twelve even numbers. */
function normal(random: () => number): number {
  let sum = -6;
  for (let count = 0; count < 12; count++) sum += random() / 2 ** 32;
  return sum;
}

/** Values around 1, with one deviation between blocks and one within them. */
function blocksOf(random: () => number, count: number, size: number, between: number, within: number): number[][] {
  return Array.from({ length: count }, () => {
    const middle = 1 + between * normal(random);
    return Array.from({ length: size }, () => middle + within * normal(random));
  });
}

test('without noise the interval is the value', () => {
  expect(
    medianInterval([
      [2, 2, 2],
      [2, 2],
    ]),
  ).toEqual([2, 2]);
});

test('where blocks agree the interval is that of a median of independent values', () => {
  // The deviation of a median of n values is about 1.25 / √n; values are drawn twice over, blocks and within.
  const [low, high] = medianInterval(blocksOf(xorshift(7), 20, 50, 0, 0.1));
  const expected = 2 * 1.96 * 1.25 * (0.1 / Math.sqrt(1000));
  expect(low).toBeLessThan(1);
  expect(high).toBeGreaterThan(1);
  expect(high - low).toBeGreaterThan(0.7 * expected);
  expect(high - low).toBeLessThan(2 * expected);
});

test('where blocks differ more values a block do not narrow the interval, more blocks do', () => {
  const width = (count: number, size: number): number => {
    const [low, high] = medianInterval(blocksOf(xorshift(11), count, size, 0.1, 0.01), 500);
    return high - low;
  };
  expect(width(5, 80)).toBeGreaterThan(0.5 * width(5, 20));
  expect(width(80, 20)).toBeLessThan(0.5 * width(5, 20));
});

test('the interval covers the true median about as often as it says', () => {
  const random = xorshift(3);
  const runs = 200;
  let covered = 0;
  for (let run = 0; run < runs; run++) {
    const [low, high] = medianInterval(blocksOf(random, 10, 10, 0.02, 0.04), 200);
    if (low <= 1 && high >= 1) covered += 1;
  }
  expect(covered / runs).toBeGreaterThan(0.9);
});

test('the interval is the same for the same values', () => {
  const blocks = blocksOf(xorshift(5), 5, 20, 0.1, 0.1);
  expect(medianInterval(blocks)).toEqual(medianInterval(blocks));
});
