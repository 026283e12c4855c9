import fc from 'fast-check';
import { expect, test } from 'vitest';
import { doAtOnce } from '../slices/slice-queue.ts';
import { topIndices } from './top-indices.ts';

const top = (values: ArrayLike<number | bigint>, from: number, to: number, count: number): Uint32Array =>
  doAtOnce(topIndices(values, from, to, count));

test('the greatest come first, equal ones in their order, NaN last', () => {
  expect([...top(new Float32Array([1, 3, NaN, 3, -Infinity, 2]), 0, 6, 6)]).toEqual([1, 3, 5, 0, 4, 2]);
  expect([...top(new Float32Array([NaN, NaN]), 0, 2, 5)]).toEqual([0, 1]);
  expect([...top(new BigInt64Array([1n, 9n, -3n]), 0, 3, 2)]).toEqual([1, 0]);
  expect([...top(new Float32Array(0), 0, 0, 3)]).toEqual([]);
});

test('only the given range is scanned', () => {
  expect([...top(new Int32Array([9, 1, 2, 3, 9]), 1, 4, 2)]).toEqual([3, 2]);
});

test('it agrees with sorting everything', () => {
  const value = fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constant(NaN), fc.double());
  fc.assert(
    fc.property(fc.array(value, { maxLength: 60 }), fc.integer({ min: 0, max: 70 }), (values, count) => {
      const sorted = values
        .map((_, index) => index)
        .sort((a, b) => {
          const left = values[a] as number;
          const right = values[b] as number;
          if (Number.isNaN(left) || Number.isNaN(right)) {
            return Number(Number.isNaN(left)) - Number(Number.isNaN(right)) || a - b;
          }
          return left < right ? 1 : left > right ? -1 : a - b;
        });
      expect([...top(values, 0, values.length, count)]).toEqual(sorted.slice(0, count));
    }),
    { seed: 7, numRuns: 500 },
  );
});

test.each([
  ['rising', (index: number) => index],
  ['falling', (index: number) => -index],
  ['equal', () => 1],
  ['mixed', (index: number) => Math.sin(index)],
] as const)('%s values of any number of candidates agree with sorting, in slices', (_, value) => {
  const values = Float64Array.from({ length: 100_000 }, (__, index) => value(index));
  const sorted = Array.from(values, (___, index) => index).sort(
    (a, b) => (values[b] as number) - (values[a] as number) || a - b,
  );
  for (const count of [1, 31, 33, 1000, 65_536, 100_000]) {
    const work = topIndices(values, 0, values.length, count);
    let slices = 1;
    let next = work.next();
    for (; next.done !== true; next = work.next()) slices += 1;
    expect(next.value.join() === sorted.slice(0, count).join()).toBe(true);
    expect(slices).toBeGreaterThanOrEqual(3);
  }
});
