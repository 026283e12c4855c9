/** What a model's queue policies mean for requests, by the live data plane with its timers. */
import { openQueue } from '@millrace/core';
import { expect, test } from 'vitest';
import { PlaneHarness } from './testing/plane-harness.ts';

const levels = (count: number) => Array.from({ length: count }, () => openQueue);

test('an urgent request goes before others that came earlier, and a level that does not exist is the default', async () => {
  const stage = new PlaneHarness({ rowsMax: 1, queues: levels(3), priorityDefault: 2 });
  const link = stage.worker(1);
  const running = stage.send([0]);
  await stage.turn();
  const sent = [3, 9, 0, 1].map((priority) => stage.send([priority], undefined, { priority }));
  const order: (number | undefined)[] = [];
  for (let turn = 0; turn < 4; turn++) {
    link.answers();
    await stage.turn();
    order.push(link.inFlight[0]?.inputs[0]?.data[0]);
  }
  link.answers();
  await stage.turn();
  expect(order).toEqual([1, 9, 0, 3]);
  for (const { answer, result } of [running, ...sent]) {
    expect(result).toMatch(/^answered/);
    answer?.release();
  }
});

test('a queue timeout refuses by the clock, while the only worker is busy', async () => {
  const queue = { ...openQueue, timeoutMs: 50, allowsTimeoutOverride: true };
  const stage = new PlaneHarness({ rowsMax: 1, queues: [queue] });
  const link = stage.worker(1);
  const running = stage.send([1]);
  await stage.turn();
  const [usual, hasty] = [stage.send([2]), stage.send([3], undefined, { queueTimeoutMs: 20 })];
  await stage.turn();
  stage.clock.advance(20);
  expect(await hasty.outcome).toBe('queue-timeout');
  expect(usual.result).toBeUndefined();
  stage.clock.advance(30);
  expect(await usual.outcome).toBe('queue-timeout');
  expect(stage.metric('millrace_queue_requests')).toBe(0);
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  running.answer?.release();
});

test.each([
  ['no queue policy', openQueue],
  ['allow_timeout_override and no default timeout', { ...openQueue, allowsTimeoutOverride: true }],
  ['a default timeout without allow_timeout_override', { ...openQueue, timeoutMs: 1000 }],
])('Triton: the timeout of a request is ignored by a model with %s', async (_, queue) => {
  const stage = new PlaneHarness({ rowsMax: 1, queues: [queue] });
  const link = stage.worker(1);
  const running = stage.send([1], undefined, { queueTimeoutMs: 20 });
  await stage.turn();
  const waiting = stage.send([2], undefined, { queueTimeoutMs: 20 });
  await stage.turn();
  stage.clock.advance(100);
  await stage.turn();
  link.answers();
  await stage.turn();
  link.answers();
  for (const { outcome, answer } of [running, waiting]) {
    expect(await outcome).toMatch(/^answered/);
    answer?.release();
  }
});

test('a batch is held back for a preferred size, and goes without it when the delay is over', async () => {
  const stage = new PlaneHarness({ rowsMax: 8, preferredRows: [2], delayMs: 30 });
  const link = stage.worker(1);
  const first = stage.send([1]);
  await stage.turn();
  expect(link.inFlight).toEqual([]);
  const second = stage.send([2]);
  await stage.turn();
  expect(link.inFlight[0]?.inputs[0]?.shape).toEqual([2, 1]);
  link.answers();
  const late = stage.send([3]);
  await stage.turn();
  stage.clock.advance(29);
  await stage.turn();
  expect(link.inFlight).toEqual([]);
  stage.clock.advance(1);
  await stage.turn();
  link.answers();
  for (const { outcome, answer } of [first, second, late]) {
    expect(await outcome).toMatch(/^answered/);
    answer?.release();
  }
});

test('a single request behind the flood of another caller goes with the next batch', async () => {
  const stage = new PlaneHarness({ rowsMax: 4 });
  const link = stage.worker(1);
  const flood = Array.from({ length: 40 }, () => stage.send([7], undefined, { caller: 'flood' }));
  await stage.turn();
  const single = stage.send([1], undefined, { caller: 'ann' });
  await stage.turn();
  link.answers();
  await stage.turn();
  link.answers();
  expect(await single.outcome).toBe('answered 1');
  single.answer?.release();
  expect(flood.filter(({ result }) => result === undefined).length).toBeGreaterThan(30);
});
