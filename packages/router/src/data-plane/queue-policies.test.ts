/** Tests a model's queue policies on the live data plane with its timers. */
import { openQueue } from '@millrace/core';
import { expect, test } from 'vitest';
import { PlaneHarness } from './testing/plane-harness.ts';

const levels = (count: number) => Array.from({ length: count }, () => openQueue);

test('an urgent request runs before earlier ones, and an unknown priority level means the default', async () => {
  const harness = new PlaneHarness({ rowsMax: 1, queues: levels(3), priorityDefault: 2 });
  const link = harness.worker(1);
  const running = harness.send([0]);
  await harness.turn();
  const sent = [3, 9, 0, 1].map((priority) => harness.send([priority], undefined, { priority }));
  const order: (number | undefined)[] = [];
  for (let turn = 0; turn < 4; turn++) {
    link.answers();
    await harness.turn();
    order.push(link.inFlight[0]?.inputs[0]?.data[0]);
  }
  link.answers();
  await harness.turn();
  expect(order).toEqual([1, 9, 0, 3]);
  for (const { answer, result } of [running, ...sent]) {
    expect(result).toMatch(/^answered/);
    answer?.release();
  }
});

test('a queue timeout refuses a request while the only worker is busy', async () => {
  const queue = { ...openQueue, timeoutMs: 50, allowsTimeoutOverride: true };
  const harness = new PlaneHarness({ rowsMax: 1, queues: [queue] });
  const link = harness.worker(1);
  const running = harness.send([1]);
  await harness.turn();
  const [usual, hasty] = [harness.send([2]), harness.send([3], undefined, { queueTimeoutMs: 20 })];
  await harness.turn();
  harness.clock.advance(20);
  expect(await hasty.outcome).toBe('queue-timeout');
  expect(usual.result).toBeUndefined();
  harness.clock.advance(30);
  expect(await usual.outcome).toBe('queue-timeout');
  expect(harness.metric('millrace_queue_requests')).toBe(0);
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  running.answer?.release();
});

test.each([
  ['no queue policy', openQueue],
  ['allow_timeout_override and no default timeout', { ...openQueue, allowsTimeoutOverride: true }],
  ['a default timeout without allow_timeout_override', { ...openQueue, timeoutMs: 1000 }],
])('Triton: the timeout of a request is ignored by a model with %s', async (_, queue) => {
  const harness = new PlaneHarness({ rowsMax: 1, queues: [queue] });
  const link = harness.worker(1);
  const running = harness.send([1], undefined, { queueTimeoutMs: 20 });
  await harness.turn();
  const waiting = harness.send([2], undefined, { queueTimeoutMs: 20 });
  await harness.turn();
  harness.clock.advance(100);
  await harness.turn();
  link.answers();
  await harness.turn();
  link.answers();
  for (const { outcome, answer } of [running, waiting]) {
    expect(await outcome).toMatch(/^answered/);
    answer?.release();
  }
});

test('a batch waits for a preferred size, and is sent without it when the delay is over', async () => {
  const harness = new PlaneHarness({ rowsMax: 8, preferredRows: [2], delayMs: 30 });
  const link = harness.worker(1);
  const first = harness.send([1]);
  await harness.turn();
  expect(link.inFlight).toEqual([]);
  const second = harness.send([2]);
  await harness.turn();
  expect(link.inFlight[0]?.inputs[0]?.shape).toEqual([2, 1]);
  link.answers();
  const late = harness.send([3]);
  await harness.turn();
  harness.clock.advance(29);
  await harness.turn();
  expect(link.inFlight).toEqual([]);
  harness.clock.advance(1);
  await harness.turn();
  link.answers();
  for (const { outcome, answer } of [first, second, late]) {
    expect(await outcome).toMatch(/^answered/);
    answer?.release();
  }
});

test('a single request behind the flood of another caller is in the next batch', async () => {
  const harness = new PlaneHarness({ rowsMax: 4 });
  const link = harness.worker(1);
  const flood = Array.from({ length: 40 }, () => harness.send([7], undefined, { caller: 'flood' }));
  await harness.turn();
  const single = harness.send([1], undefined, { caller: 'ann' });
  await harness.turn();
  link.answers();
  await harness.turn();
  link.answers();
  expect(await single.outcome).toBe('answered 1');
  single.answer?.release();
  expect(flood.filter(({ result }) => result === undefined).length).toBeGreaterThan(30);
});
