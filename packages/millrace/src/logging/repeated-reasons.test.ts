import { expect, test } from 'vitest';
import { RepeatedReasons } from './repeated-reasons.ts';

test('the first, second, fourth and eighth time with one reason count, and another reason starts anew', () => {
  const reasons = new RepeatedReasons();
  const times = Array.from({ length: 9 }, () => reasons.takeTimes('m', 'no memory'));
  expect(times).toEqual([1, 2, undefined, 4, undefined, undefined, undefined, 8, undefined]);
  expect(reasons.takeTimes('other', 'no memory')).toBe(1);
  expect(reasons.takeTimes('m', 'torn')).toBe(1);
  reasons.takeTimes('m', 'torn');
  reasons.takeTimes('m', 'torn');
  reasons.forget('m');
  expect(reasons.takeTimes('m', 'torn')).toBe(1);
});
