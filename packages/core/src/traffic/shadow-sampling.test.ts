import { expect, test } from 'vitest';
import { shadowsOf } from './shadow-sampling.ts';

const shadows = [
  { version: '2', percent: 100 },
  { version: '3', percent: 25 },
];

test('each version gets a copy by a draw of its own', () => {
  const draws = [0.9999, 0.2499];
  expect(shadowsOf(shadows, '1', () => draws.shift() as number)).toEqual(['2', '3']);
  expect(shadowsOf(shadows, '1', () => 0.25)).toEqual(['2']);
  expect(shadowsOf([], '1', () => 0)).toEqual([]);
});

test('the version that answers gets no copy, and no draw is spent on it', () => {
  let draws = 0;
  const random = (): number => {
    draws += 1;
    return 0;
  };
  expect(shadowsOf(shadows, '2', random)).toEqual(['3']);
  expect(draws).toBe(1);
});
