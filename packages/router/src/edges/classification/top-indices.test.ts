import fc from 'fast-check';
import { expect, test } from 'vitest';
import { topIndices } from './top-indices.ts';

test('the greatest come first, equal ones in their order, NaN last', () => {
  expect([...topIndices(new Float32Array([1, 3, NaN, 3, -Infinity, 2]), 0, 6, 6)]).toEqual([1, 3, 5, 0, 4, 2]);
  expect([...topIndices(new Float32Array([NaN, NaN]), 0, 2, 5)]).toEqual([0, 1]);
  expect([...topIndices(new BigInt64Array([1n, 9n, -3n]), 0, 3, 2)]).toEqual([1, 0]);
  expect([...topIndices(new Float32Array(0), 0, 0, 3)]).toEqual([]);
});

test('a range is looked at and no more', () => {
  expect([...topIndices(new Int32Array([9, 1, 2, 3, 9]), 1, 4, 2)]).toEqual([3, 2]);
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
      expect([...topIndices(values, 0, values.length, count)]).toEqual(sorted.slice(0, count));
    }),
    { seed: 7, numRuns: 500 },
  );
});
