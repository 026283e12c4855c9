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

test('it names the instances that are to get a trial, and then looks for the next one', () => {
  const { openMs } = defaultBreakerPolicy;
  const clock = new ProbationClock();
  expect(clock.lookAt).toBe(Infinity);
  const [first, second] = [openedAt(10, 1), openedAt(50, 2)];
  clock.note(first);
  clock.note(second);
  const workers = [first.worker, second.worker];
  expect(clock.lookAt).toBe(10 + openMs);
  expect(clock.due(workers, 9 + openMs)).toEqual([]);
  expect(clock.due(workers, 10 + openMs)).toEqual([first]);
  expect(clock.lookAt).toBe(50 + openMs);
});

test('one that was closed meanwhile is no matter', () => {
  const clock = new ProbationClock();
  const instance = openedAt(0, 1);
  clock.note(instance);
  instance.breaker.close(5);
  expect(clock.due([instance.worker], 10_000)).toEqual([]);
  expect(clock.lookAt).toBe(Infinity);
});
