/** Breakers with real worker processes: one instance of three is alive and fails its runs. The test controls the clock. */
import { rmSync, writeFileSync } from 'node:fs';
import { HeldClock } from '@millrace/router/testing';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { sickFileOf } from '../support/faults.ts';
import { FaultyServer } from '../support/faulty-server.ts';

/** Real workers take time; the scheduler's decisions do not. */
class OutsideTime extends HeldClock {
  override endOfTurn(callback: () => void): void {
    setImmediate(callback);
  }
}

const closed = 0;
const halfOpen = 1;
const open = 2;
const clock = new OutsideTime();
let models: ModelRepository;
let server: FaultyServer;
let workers: ReturnType<FaultyServer['workers']> = [];

beforeEach(async () => {
  models = new ModelRepository()
    .write('sum/1/model.onnx', binaryModel('Add'))
    .write('sum/config.pbtxt', 'max_batch_size: 1 instance_group { kind: KIND_CPU count: 3 }');
  server = await FaultyServer.start(models.path, {}, clock);
  await eventually(
    'three instances serve',
    () => server.workers().length === 3 && server.status('sum')?.state === 'ready',
  );
  workers = server.workers();
});
afterEach(async () => {
  for (const { pid } of workers) heal(pid);
  await server.close();
  models.remove();
});

const sicken = (pid: number) => writeFileSync(sickFileOf(pid, process.pid), '');
const heal = (pid: number) => rmSync(sickFileOf(pid, process.pid), { force: true });
const stateOf = (worker: number) =>
  server.metric('millrace_instance_breaker_state', { model: 'sum', worker: String(worker) });
const states = () => Promise.all(workers.map(({ worker }) => stateOf(worker)));
const failed = () => server.metric('millrace_failures_total', { model: 'sum', code: 'inference-failed' });
const tensor = (name: string, value: number) => ({
  name,
  datatype: 'FP32' as const,
  shape: [1, 2],
  values: [value, 1],
});

/** A request for each instance at once. How many failed; the others are answered rightly. */
async function wave(): Promise<number> {
  const answers = await Promise.all(
    [1, 2, 3].map((value) => server.infer('sum', [tensor('left', value), tensor('right', value)])),
  );
  for (const [index, { status, outputs, error }] of answers.entries()) {
    if (status === 200) expect(outputs[0]?.values).toEqual([2 * (index + 1), 2]);
    else expect([status, error]).toEqual([500, expect.stringContaining('the device is out of order')]);
  }
  return answers.filter(({ status }) => status !== 200).length;
}

/** Waves until this is so; how many requests failed. */
async function wavesUntil(what: string, isSo: () => Promise<boolean>): Promise<number> {
  let failures = 0;
  await eventually(what, async () => {
    failures += await wave();
    return isSo();
  });
  return failures;
}

async function wavesWithoutFailure(count: number): Promise<void> {
  for (let round = 0; round < count; round++) expect(await wave()).toBe(0);
}

test('an instance that fails alone is taken out of service, tried with one batch at a time, and taken back when it works', async () => {
  await wavesWithoutFailure(3);
  const [, { worker, pid }] = workers as [unknown, { worker: number; pid: number }];
  sicken(pid);
  expect(await wavesUntil('its breaker opens', async () => (await stateOf(worker)) === open)).toBe(5);
  expect(await states()).toEqual([closed, open, closed]);

  // As long as it is open, its siblings answer everything.
  await wavesWithoutFailure(20);
  clock.advance(999);
  await wavesWithoutFailure(5);
  expect(await states()).toEqual([closed, open, closed]);

  // Its time is over: it is tried, costs one request its answer, and is out for twice as long.
  clock.advance(1);
  expect(await stateOf(worker)).toBe(halfOpen);
  expect(await wavesUntil('it is out again', async () => (await stateOf(worker)) === open)).toBe(1);
  clock.advance(1999);
  await wavesWithoutFailure(20);

  heal(pid);
  clock.advance(1);
  expect(await wavesUntil('it is trusted again', async () => (await stateOf(worker)) === closed)).toBe(0);
  await wavesWithoutFailure(5);
  expect(await failed()).toBe(6);

  // Being trusted means being given work.
  sicken(pid);
  expect(await wavesUntil('it is given work', async () => (await failed()) > 6)).toBeGreaterThan(0);
  expect(server.workers()).toEqual(workers);
  expect(await server.metric('millrace_worker_restarts_total')).toBe(0);
});

test('instances that all fail all keep getting requests, and serve again when they work', async () => {
  for (const { pid } of workers) sicken(pid);
  for (let round = 0; round < 10; round++) expect(await wave()).toBe(3);
  expect(await states()).toEqual([closed, closed, closed]);
  for (const { pid } of workers) heal(pid);
  await wavesWithoutFailure(5);
});
