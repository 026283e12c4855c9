import { expect, test } from 'vitest';
import { resolveModelPolicy } from '../../model-policy.ts';
import { defaultBreakerPolicy } from '../instances/circuit-breaker.ts';
import { InstanceEntry, InstanceRecord } from '../instances/instance-entry.ts';
import { WorkerEntry } from '../instances/worker-entry.ts';
import { ModelEntry } from '../models/model-entry.ts';
import { Batch } from './batch.ts';
import { RunClock } from './run-clock.ts';

function workerOf(id: number, runMsMax: number): { worker: WorkerEntry; batch: Batch } {
  const policy = resolveModelPolicy({ rowsMax: 1, queueRequestsMax: 1, queueBytesMax: 1, runMsMax });
  const worker = new WorkerEntry(id, 0);
  worker.batchesMax = 2;
  const record = new InstanceRecord(defaultBreakerPolicy);
  const instance = new InstanceEntry(worker, new ModelEntry('mlp', policy), record, Infinity);
  return { worker, batch: new Batch(id, instance, [], 0) };
}

test('it returns the workers that run too long, and then the time of the next check', () => {
  const clock = new RunClock();
  const quick = workerOf(1, 50);
  const slow = workerOf(2, 200);
  for (const { worker, batch } of [quick, slow]) {
    worker.begin(batch, 10);
    clock.note(worker);
  }
  const workers = [quick.worker, slow.worker];
  expect(clock.checkAt).toBe(60);
  expect(clock.overdue(workers, 59)).toEqual([]);
  expect(clock.overdue(workers, 60)).toEqual([quick.worker]);
  expect(clock.checkAt).toBe(210);
});

test('a run that ended in time costs one check that finds nothing', () => {
  const clock = new RunClock();
  const { worker, batch } = workerOf(1, 50);
  worker.begin(batch, 0);
  clock.note(worker);
  worker.end(batch, 20);
  expect(clock.checkAt).toBe(50);
  expect(clock.overdue([worker], 50)).toEqual([]);
  expect(clock.checkAt).toBe(Number.POSITIVE_INFINITY);
});

test('a model without a limit is never checked', () => {
  const clock = new RunClock();
  const { worker, batch } = workerOf(1, Number.POSITIVE_INFINITY);
  worker.begin(batch, 0);
  clock.note(worker);
  expect(clock.checkAt).toBe(Number.POSITIVE_INFINITY);
  expect(clock.overdue([worker], 1e12)).toEqual([]);
});
