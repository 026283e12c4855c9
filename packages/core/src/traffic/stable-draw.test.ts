import { expect, test } from 'vitest';
import { stableDraw } from './stable-draw.ts';

test('an id draws the same number every time, and a number another one than its digits', () => {
  expect(stableDraw(42n)).toBe(stableDraw(42n));
  expect(stableDraw('42')).toBe(stableDraw('42'));
  expect(stableDraw(42n)).not.toBe(stableDraw('42'));
});

test('consecutive ids are spread evenly from 0 to below 1', () => {
  const tenths = new Array<number>(10).fill(0);
  for (let id = 0n; id < 10_000n; id++) {
    const draw = stableDraw(id);
    expect(draw).toBeGreaterThanOrEqual(0);
    expect(draw).toBeLessThan(1);
    tenths[Math.floor(draw * 10)] = (tenths[Math.floor(draw * 10)] as number) + 1;
  }
  for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(130);
});
