import { expect, test } from 'vitest';
import { slopeOf } from './least-squares.ts';

test('the slope of a line is found, noise of both signs around it leaves it', () => {
  expect(
    slopeOf([
      [0, 1],
      [1, 3],
      [2, 5],
    ]),
  ).toBe(2);
  expect(
    slopeOf([
      [0, 1],
      [1, -1],
      [2, -1],
      [3, 1],
    ]),
  ).toBe(0);
});

test('one point has no slope', () => {
  expect(slopeOf([[3, 9]])).toBe(0);
  expect(slopeOf([])).toBe(0);
});
