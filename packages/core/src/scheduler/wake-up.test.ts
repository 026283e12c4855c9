import { expect, test } from 'vitest';
import { WakeUp } from './wake-up.ts';

test('it requests a first time, and again only an earlier one', () => {
  const wakeUp = new WakeUp();
  expect(wakeUp.takeTime(Number.POSITIVE_INFINITY, 0)).toBeUndefined();
  expect(wakeUp.takeTime(100, 0)).toBe(100);
  expect(wakeUp.takeTime(150, 1)).toBeUndefined();
  expect(wakeUp.takeTime(100, 2)).toBeUndefined();
  expect(wakeUp.takeTime(90, 3)).toBe(90);
});

test('after the requested time has passed it requests again', () => {
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
