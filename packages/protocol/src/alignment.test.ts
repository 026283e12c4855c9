import { expect, test } from 'vitest';
import { alignedToCacheLine, alignedToElement } from './alignment.ts';
import { datatypes } from './datatypes.ts';

test.each([
  [0, 0, 0],
  [1, 8, 64],
  [8, 8, 64],
  [9, 16, 64],
  [64, 64, 64],
  [65, 72, 128],
  [2 ** 33 + 1, 2 ** 33 + 8, 2 ** 33 + 64],
])('%i bytes take up %i between elements and %i between cache lines', (bytes, elements, cacheLines) => {
  expect([alignedToElement(bytes), alignedToCacheLine(bytes)]).toEqual([elements, cacheLines]);
});

test('the elements of every datatype are aligned', () => {
  for (const { bytes = 1 } of Object.values(datatypes)) {
    expect([alignedToElement(1) % bytes, alignedToCacheLine(1) % bytes]).toEqual([0, 0]);
  }
});
