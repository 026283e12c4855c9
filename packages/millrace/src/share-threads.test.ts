import { expect, test } from 'vitest';
import { shareThreads } from './share-threads.ts';

const model = (instanceCount: number, versions = 1) => ({ versions: new Array(versions).fill(0), instanceCount });

test('instances share the cores equally and have a thread each', () => {
  expect(shareThreads([model(2), model(1, 2)], 8, 'auto')).toEqual({ threads: 2, isSpinning: false });
  expect(shareThreads([model(5)], 2, 'auto')).toEqual({ threads: 1, isSpinning: false });
  expect(shareThreads([], 2, 'auto')).toEqual({ threads: 2, isSpinning: false });
});

test('only a lone instance with cores to spare spins', () => {
  expect(shareThreads([model(1)], 8, 'auto')).toEqual({ threads: 8, isSpinning: true });
  expect(shareThreads([model(1)], 2, 'auto')).toEqual({ threads: 2, isSpinning: false });
  expect(shareThreads([model(2)], 8, 'auto').isSpinning).toBe(false);
});

test('a chosen number of threads is taken as it is', () => {
  expect(shareThreads([model(4)], 8, 3)).toEqual({ threads: 3, isSpinning: false });
});
