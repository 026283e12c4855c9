/** Reserved instances, waits that are too long and callers over their limit, with a real server and real workers. */
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { holdWorker } from '../support/hold-worker.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

const models = new ModelRepository();
const twoKinds = `
  dynamic_batching { priority_levels: 2 default_priority_level: 2 }
  instance_group { name: "fast" kind: KIND_CPU count: 1 }
  instance_group { name: "slow" kind: KIND_CPU count: 2 }`;
let server: ServerProcess;

beforeAll(async () => {
  addSlowModel(models, 'split', { 'reserve.fast': 1, 'threads.fast': 2 }, twoKinds);
  addSlowModel(models, 'queued');
  server = await ServerProcess.start([
    ...[models.path, '--no-share-workers'],
    ...['--caller-header', 'x-team', '--queue-caller-requests-max', '2'],
  ]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

interface Instance {
  readonly worker: string;
  readonly hasRun: boolean;
}

/** Those of the model, in the order of their ids, and whether they have ever run anything. */
async function instancesOf(model: string): Promise<readonly Instance[]> {
  const text = await (await fetch(server.metricsUrl)).text();
  const workersIn = (metric: string): string[] =>
    [...text.matchAll(new RegExp(`^${metric}\\{model="${model}",version="1",worker="(\\d+)"\\}`, 'gm'))].map(
      (match) => match[1] as string,
    );
  const measured = workersIn('millrace_instance_row_seconds');
  return workersIn('millrace_instance_breaker_state')
    .sort((left, right) => Number(left) - Number(right))
    .map((worker) => ({ worker, hasRun: measured.includes(worker) }));
}

const outstanding = (model: string) => server.metric('millrace_outstanding_requests', { model });

test('low-priority requests go to unreserved instances, although the reserved one is idle', async () => {
  await eventually('three instances serve', async () => (await instancesOf('split')).length === 3);
  const calls = Array.from({ length: 12 }, (_, index) =>
    inferOverRest(server.url, 'split', steps(20), { headers: { 'x-team': `low-${index}` } }),
  );
  for (const answer of await Promise.all(calls)) expect(answer.status).toBe(200);
  // The first group comes first.
  expect((await instancesOf('split')).map(({ hasRun }) => hasRun)).toEqual([false, true, true]);
  const urgent = await inferOverRest(server.url, 'split', steps(5), { parameters: { priority: 1 } });
  expect(urgent.status).toBe(200);
  expect((await instancesOf('split')).map(({ hasRun }) => hasRun)).toEqual([true, true, true]);
});

test('a request that cannot be answered in time, or over its caller’s limit, is refused at once with a retry time', async () => {
  const call = (team: string, deadline: Readonly<Record<string, string>> = {}) =>
    inferOverRest(server.url, 'queued', steps(150), { headers: { 'x-team': team, ...deadline } });
  expect((await call('a')).status).toBe(200);
  // Two that the worker holds, two that wait.
  const goOn = holdWorker(server, 'queued:1');
  const held = [call('a'), call('b')];
  await eventually('2 requests are in', async () => (await outstanding('queued')) === 2);
  const waiting = [call('a'), call('a')];
  await eventually('4 requests are in', async () => (await outstanding('queued')) === 4);

  const hurried = await call('c', { 'millrace-timeout-ms': '100' });
  expect([hurried.status, hurried.code]).toEqual([503, 'wait-too-long']);
  expect(Number(hurried.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const greedy = await call('a');
  expect([greedy.status, greedy.code]).toEqual([429, 'caller-full']);
  expect(Number(greedy.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await server.metric('millrace_queue_wait_seconds', { model: 'queued' })).toBeGreaterThan(0);

  const patient = call('c');
  goOn();
  for (const answer of await Promise.all([...held, ...waiting, patient])) expect(answer.status).toBe(200);
  const failures = (code: string) => server.metric('millrace_failures_total', { model: 'queued', code });
  expect([await failures('wait-too-long'), await failures('caller-full')]).toEqual([1, 1]);
});
