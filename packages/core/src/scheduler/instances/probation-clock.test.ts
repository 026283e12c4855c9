import { expect, test } from 'vitest';
import { instanceOf, modelWith } from '../testing/entries.ts';
import { defaultBreakerPolicy } from './circuit-breaker.ts';
import type { InstanceEntry } from './instance-entry.ts';
import { ProbationClock } from './probation-clock.ts';

function openedAt(nowMs: number, worker: number): InstanceEntry {
  const instance = instanceOf(modelWith(), worker);
  instance.worker.instances.push(instance);
  for (let failure = 0; failure < defaultBreakerPolicy.consecutiveMax; failure++) {
    instance.breaker.noteFailure(0, nowMs, nowMs);
  }
  return instance;
}

test('it returns the instances that are due for a trial, and then the time of the next check', () => {
  const { openMs } = defaultBreakerPolicy;
  const clock = new ProbationClock();
  expect(clock.checkAt).toBe(Infinity);
  const [first, second] = [openedAt(10, 1), openedAt(50, 2)];
  clock.note(first);
  clock.note(second);
  const workers = [first.worker, second.worker];
  expect(clock.checkAt).toBe(10 + openMs);
  expect(clock.due(workers, 9 + openMs)).toEqual([]);
  expect(clock.due(workers, 10 + openMs)).toEqual([first]);
  expect(clock.checkAt).toBe(50 + openMs);
});

test('an instance that was closed meanwhile is ignored', () => {
  const clock = new ProbationClock();
  const instance = openedAt(0, 1);
  clock.note(instance);
  instance.breaker.close(5);
  expect(clock.due([instance.worker], 10_000)).toEqual([]);
  expect(clock.checkAt).toBe(Infinity);
});
