import { expect, test } from 'vitest';
import { FailureTally } from './failure-tally.ts';

test('batches and failures are counted together and fade together', () => {
  const tally = new FailureTally(1000);
  tally.note(false, 0);
  tally.note(true, 0);
  expect([tally.batches(0), tally.failures(0)]).toEqual([2, 1]);
  expect([tally.batches(1000), tally.failures(1000)]).toEqual([1, 0.5]);
  tally.note(true, 2000);
  expect([tally.batches(2000), tally.failures(2000)]).toEqual([1.5, 1.25]);
});

test('a clock that stands still or goes back a little changes nothing', () => {
  const tally = new FailureTally(1000);
  tally.note(true, 500);
  expect(tally.failures(499)).toBe(1);
});

test('what is cleared is forgotten at once', () => {
  const tally = new FailureTally(1000);
  tally.note(true, 0);
  tally.clear();
  expect([tally.batches(0), tally.failures(0)]).toEqual([0, 0]);
});
