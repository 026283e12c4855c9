import { expect, test } from 'vitest';
import type { ArrivedRequest } from '../../events.ts';
import { openQueue } from '../../model-policy.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import { entryOf, instanceOf, modelWith } from '../testing/entries.ts';
import { estimatedWaitMs, retryAfterMs, retryAfterMsMax, retryAfterMsMin, waitRefusal } from './wait-estimate.ts';

const arrived: ArrivedRequest = {
  request: 999,
  model: 'mlp',
  rows: 1,
  bytes: 1,
  group: 'a',
  deadlineAt: Infinity,
  caller: '',
  priority: 0,
  queueTimeoutMs: Infinity,
  isAlone: false,
};

/** With instances that take 8 ms for 8 rows, for requests of these levels. */
function served(model: ModelEntry, ...priorityMax: readonly number[]): ModelEntry {
  for (const [index, max] of priorityMax.entries()) {
    const instance = instanceOf(model, index + 1);
    instance.priorityMax = max;
    instance.speed.note(8, 8);
    model.instances.push(instance);
    model.throughput.add(instance);
    model.throughput.measure(instance, 8);
  }
  model.hasReserved = priorityMax.some((max) => max !== Infinity);
  return model;
}

function queue(model: ModelEntry, count: number, fields: Partial<ArrivedRequest> = {}): void {
  for (let index = 0; index < count; index++)
    model.queue.add(entryOf(model, model.queue.requestCount + 1, fields), false);
}

test('a model of which nothing was measured has no estimate, and refuses nobody', () => {
  const model = modelWith({ waitMsMax: 1 });
  queue(model, 100);
  expect(estimatedWaitMs(model, 0)).toBeUndefined();
  expect(retryAfterMs(model)).toBeUndefined();
  expect(waitRefusal({ ...arrived, deadlineAt: 1 }, model, 0)).toBeUndefined();
});

test('what waits and what runs is ahead, and all instances work on it', () => {
  const model = served(modelWith(), Infinity, Infinity);
  queue(model, 20);
  model.outstandingRows = 10;
  expect(estimatedWaitMs(model, 0)).toBeCloseTo(15);
});

test('less urgent requests are not ahead, and instances kept for urgent ones do not help the others', () => {
  const model = served(modelWith({ queues: [openQueue, openQueue] }), 1, Infinity);
  queue(model, 10, { priority: 1 });
  queue(model, 30, { priority: 2 });
  expect(estimatedWaitMs(model, 0)).toBeCloseTo(5);
  expect(estimatedWaitMs(model, 1)).toBeCloseTo(40);
});

test('a deadline counts from now, and a quarter of doubt is allowed', () => {
  const model = served(modelWith(), Infinity);
  queue(model, 100);
  expect(waitRefusal({ ...arrived, deadlineAt: 1080 }, model, 1000)).toBeUndefined();
  expect(waitRefusal({ ...arrived, deadlineAt: 1079 }, model, 1000)).toMatchObject({ code: 'wait-too-long' });
});

test('one caller with little waiting is not behind the flood of another', () => {
  const model = served(modelWith({ waitMsMax: 10 }), Infinity);
  queue(model, 100, { caller: 'flood' });
  expect(waitRefusal({ ...arrived, caller: 'flood' }, model, 0)).toMatchObject({ code: 'wait-too-long' });
  expect(waitRefusal({ ...arrived, caller: 'ann' }, model, 0)).toBeUndefined();
});

test('the retry delay has a lower and an upper bound', () => {
  const model = served(modelWith(), Infinity);
  expect(retryAfterMs(model)).toBe(retryAfterMsMin);
  queue(model, 100);
  expect(retryAfterMs(model)).toBeCloseTo(50);
  model.outstandingRows = 1e9;
  expect(retryAfterMs(model)).toBe(retryAfterMsMax);
});
