import { expect, test } from 'vitest';
import { CallerCounts, idleCallersMax } from './caller-counts.ts';

test('a caller is one entry, whatever other callers do in between', () => {
  const callers = new CallerCounts();
  const first = callers.entryOf('a');
  first.waitingRequests = 1;
  expect(callers.entryOf('b')).not.toBe(first);
  expect(callers.entryOf('a')).toBe(first);
  expect(callers.entryOf('a')).toBe(first);
});

test('callers with nothing waiting are forgotten when there are too many, others never', () => {
  const callers = new CallerCounts();
  const waiting = callers.entryOf('patient');
  waiting.waitingRequests = 3;
  for (let caller = 0; caller < 5 * idleCallersMax; caller++) callers.entryOf(`10.0.0.${caller}`);
  expect(callers.count).toBeLessThanOrEqual(idleCallersMax);
  expect(callers.entryOf('patient')).toBe(waiting);
});

test('an entry that was swept away is not handed out again beside its successor', () => {
  const callers = new CallerCounts();
  const before = callers.entryOf('a');
  for (let caller = 0; caller < 2 * idleCallersMax; caller++) callers.entryOf(`x${caller}`);
  const after = callers.entryOf('a');
  expect(after).not.toBe(before);
  expect(callers.entryOf('a')).toBe(after);
});
