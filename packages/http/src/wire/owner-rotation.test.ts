import { expect, test } from 'vitest';
import { OwnerRotation } from './owner-rotation.ts';

test('owners take turns, however many items one of them has', () => {
  const rotation = new OwnerRotation<number>();
  for (let item = 0; item < 5; item += 1) rotation.add('a', item);
  rotation.add('b', 10);
  rotation.add('c', 20);
  expect(rotation.remove('a', 3)).toBe(true);
  expect(rotation.remove('a', 3)).toBe(false);
  expect(rotation.size).toBe(6);
  expect(Array.from({ length: 7 }, () => rotation.take())).toEqual([0, 10, 20, 1, 2, 4, undefined]);
  expect(rotation.size).toBe(0);
});
