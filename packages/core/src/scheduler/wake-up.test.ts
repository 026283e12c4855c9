import { expect, test } from 'vitest';
import { WakeUp } from './wake-up.ts';

test('it asks when nothing was asked for yet, and again only for an earlier time', () => {
  const wakeUp = new WakeUp();
  expect(wakeUp.takeTime(Number.POSITIVE_INFINITY, 0)).toBeUndefined();
  expect(wakeUp.takeTime(100, 0)).toBe(100);
  expect(wakeUp.takeTime(150, 1)).toBeUndefined();
  expect(wakeUp.takeTime(100, 2)).toBeUndefined();
  expect(wakeUp.takeTime(90, 3)).toBe(90);
});

test('after the time asked for has come it asks anew', () => {
  const wakeUp = new WakeUp();
  expect(wakeUp.takeTime(100, 0)).toBe(100);
  expect(wakeUp.takeTime(170, 100)).toBe(170);
  expect(wakeUp.takeTime(Number.POSITIVE_INFINITY, 170)).toBeUndefined();
});

test('a timer that fires early does not lose the time it was set for', () => {
  const wakeUp = new WakeUp();
  expect(wakeUp.takeTime(100, 0)).toBe(100);
  wakeUp.woken();
  expect(wakeUp.takeTime(100, 99.7)).toBe(100);
});
