import { expect, test } from 'vitest';
import { logProbabilitiesOf, topLogProbabilitiesMax } from './log-probabilities.ts';

const logits = Float32Array.from([0.125, 0.5, 0.125, 0.25], Math.log);

test('gives the chosen token and the most probable ones', () => {
  const { chosen, top } = logProbabilitiesOf(logits, 2, 3);
  expect(chosen.id).toBe(2);
  expect(chosen.logProbability).toBeCloseTo(Math.log(0.125), 6);
  expect(top.map(({ id }) => id)).toEqual([1, 3, 0]);
  expect(top[0]?.logProbability).toBeCloseTo(Math.log(0.5), 6);
});

test('large logits do not overflow, and none of the top may be asked for', () => {
  const { chosen, top } = logProbabilitiesOf(Float32Array.of(3e38, 3e38, -3e38), 0, 0);
  expect(chosen.logProbability).toBeCloseTo(-Math.LN2, 6);
  expect(top).toEqual([]);
});

test('more than the vocabulary has gives all of it', () => {
  expect(logProbabilitiesOf(logits, 0, 20).top.map(({ id }) => id)).toEqual([1, 3, 0, 2]);
});

test.each([-1, 1.5, topLogProbabilitiesMax + 1])('%s of the most probable tokens is refused', (count) => {
  expect(() => logProbabilitiesOf(logits, 0, count)).toThrow(`${count} is not an integer from 0 to 20`);
});
