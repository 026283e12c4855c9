import { expect, test } from 'vitest';
import { Batch } from '../batches/batch.ts';
import { noteDeath, partIn } from '../retries/poison-detection.ts';
import { defaultRetryPolicy } from '../retries/retry-policy.ts';
import { entryOf, instanceOf, modelWith } from '../testing/entries.ts';
import type { WorkerEntry } from './worker-entry.ts';

function workerWith({ isConcurrent = true, runMsMax = 100 } = {}) {
  const model = modelWith({ isConcurrent, runMsMax });
  const instance = instanceOf(model, 1);
  const { worker } = instance;
  worker.batchesMax = 4;
  let batchCount = 0;
  const begin = (nowMs: number, requests = 1): Batch => {
    batchCount += 1;
    const entries = Array.from({ length: requests }, (_, index) => entryOf(model, 10 * batchCount + index));
    const batch = new Batch(batchCount, instance, entries, nowMs);
    worker.begin(batch, nowMs);
    return batch;
  };
  return { model, worker, begin };
}

const partsOf = (worker: WorkerEntry) => worker.outstanding.map((batch) => partIn(worker, batch));

test('runs side by side have a limit each, and the soonest is the one that counts', () => {
  const { model, worker, begin } = workerWith({ runMsMax: 500 });
  const first = begin(0);
  model.setPolicy({ ...model.policy, runMsMax: 100 });
  const second = begin(10);
  const third = begin(20);
  expect([first, second, third].map(({ runLimitAt }) => runLimitAt)).toEqual([500, 110, 120]);
  expect(worker.runLimitAt).toBe(110);
  worker.end(second, 30);
  expect(worker.runLimitAt).toBe(120);
  worker.end(first, 40);
  expect(worker.runLimitAt).toBe(120);
  worker.end(third, 50);
  expect(worker.runLimitAt).toBe(Number.POSITIVE_INFINITY);
});

test('a batch that waits its turn has no limit until it runs', () => {
  const { worker, begin } = workerWith({ isConcurrent: false });
  const first = begin(0);
  const second = begin(10);
  expect(second.runLimitAt).toBe(Number.POSITIVE_INFINITY);
  worker.end(first, 60);
  expect(worker.runLimitAt).toBe(160);
});

test('what ran too long is blamed for the kill, not what is older nor what ran beside it', () => {
  const { model, worker, begin } = workerWith({ runMsMax: 500 });
  begin(0);
  model.setPolicy({ ...model.policy, runMsMax: 100 });
  const overdue = begin(10);
  begin(20);
  expect(worker.condemn(110)).toBe(overdue);
  expect(partsOf(worker)).toEqual(['innocent', 'suspect', 'innocent']);
});

test('a batch that ran too long alone is to blame; one that ran beside others is only suspect', () => {
  const alone = workerWith();
  alone.begin(0);
  alone.worker.condemn(100);
  expect(partsOf(alone.worker)).toEqual(['overdue']);

  const accompanied = workerWith();
  accompanied.begin(0);
  accompanied.worker.end(accompanied.begin(10), 20);
  accompanied.worker.condemn(100);
  expect(partsOf(accompanied.worker)).toEqual(['suspect']);

  const inTurn = workerWith({ isConcurrent: false });
  inTurn.begin(0);
  inTurn.begin(10);
  inTurn.worker.condemn(100);
  expect(partsOf(inTurn.worker)).toEqual(['overdue', 'innocent']);
});

test('when a worker died by itself, everything that ran is suspect', () => {
  const { worker, begin } = workerWith();
  begin(0);
  begin(10);
  expect(partsOf(worker)).toEqual(['suspect', 'suspect']);

  const inTurn = workerWith({ isConcurrent: false });
  inTurn.begin(0);
  inTurn.begin(10);
  expect(partsOf(inTurn.worker)).toEqual(['suspect', 'innocent']);
});

test('nobody is refused for a death that another may have caused, in the same batch or beside it', () => {
  const policy = { ...defaultRetryPolicy, deathsMax: 1 };
  const codeOf = (batch: Batch) => {
    const [entry] = batch.entries;
    return entry && noteDeath(entry, { isSole: batch.isSole, isKilled: false }, policy)?.code;
  };
  const { begin } = workerWith();
  const first = begin(0);
  const second = begin(10);
  expect([first, second].map(codeOf)).toEqual([undefined, undefined]);
  expect(codeOf(workerWith().begin(0, 2))).toBeUndefined();
  expect(codeOf(workerWith().begin(0))).toBe('poison-request');
});

test('a suspect is given nothing beside it', () => {
  const { model, worker, begin } = workerWith();
  const suspect = entryOf(model, 1);
  suspect.deaths = 1;
  const batch = new Batch(9, instanceOf(model, 1), [suspect], 0);
  worker.begin(batch, 0);
  expect(worker.isFree()).toBe(false);
  worker.end(batch, 10);
  expect(worker.isFree()).toBe(true);
  expect(begin(20).hadCompany).toBe(false);
});
