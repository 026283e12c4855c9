import { expect, test } from 'vitest';
import { fitBatch } from './fit-batch.ts';

const batching = (...dims: readonly number[]) => ({ shape: [-1, ...dims], isBatched: true });
const plain = (...dims: readonly number[]) => ({ shape: dims, isBatched: false });

test.each([
  ['the shape stays between two models that batch', [3, 2], true, batching(2), [3, 2]],
  ['the shape stays between two models that do not batch', [3, 2], false, plain(-1, 2), [3, 2]],
  ['a row gains a batch of one', [2], false, batching(2), [1, 2]],
  ['a row of free sizes gains a batch of one', [5, 2], false, batching(-1, 2), [1, 5, 2]],
  ['a tensor that has rows already is the batch', [3, 2], false, batching(2), [3, 2]],
  ['a batch of one is dropped', [1, 2], true, plain(2), [2]],
  ['a batch of one stays where the shape allows it', [1, 2], true, plain(-1, 2), [1, 2]],
  ['a larger batch stays where the shape allows it', [3, 2], true, plain(3, 2), [3, 2]],
  ['one value a row becomes a list of one', [3], true, batching(1), [3, 1]],
  ['a single value becomes a list of one', [], false, plain(1), [1]],
  ['a single value becomes a row of one', [], false, batching(1), [1, 1]],
  ['a larger batch that the shape does not allow is left to be refused', [3, 2], true, plain(2), [3, 2]],
])('Triton: %s', (_, shape, isBatched, wanted, fitted) => {
  expect(fitBatch(shape, isBatched, wanted)).toEqual(fitted);
});
