/** What callers see when workers die, hang or cannot keep up, with a real server, real workers and real connections. */
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { holdWorker } from '../support/hold-worker.ts';
import { type CallAnswer, inferOverRest } from '../support/inference-call.ts';
import { isAlive } from '../support/is-alive.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

/** Each test has a model, and so a worker and metrics, to itself. */
const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  for (const name of ['killed', 'deadline_header', 'deadline_parameter', 'left']) addSlowModel(models, name);
  addSlowModel(models, 'limited', { run_ms_max: 200 });
  addSlowModel(models, 'narrow', { queue_requests_max: 2 });
  server = await ServerProcess.start([models.path, '--no-share-workers']);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

const stepsDone = (answer: CallAnswer) => answer.outputs.find(({ name }) => name === 'steps_done')?.values;
const batchesRun = (model: string) => server.metric('millrace_batch_rows_count', { model });
const waiting = (model: string) => server.metric('millrace_queue_requests', { model });
const outstanding = (model: string) => server.metric('millrace_outstanding_requests', { model });
const failures = (model: string, code: string) => server.metric('millrace_failures_total', { model, code });

/**
 * Gives the worker of the model two batches, the one it runs and the one it holds behind it, each of `count` steps:
 * whatever comes next waits in the queue.
 */
async function occupy(model: string, count: number): Promise<readonly Promise<CallAnswer>[]> {
  const calls = [inferOverRest(server.url, model, steps(count)), inferOverRest(server.url, model, steps(count))];
  const isOccupied = async () => (await outstanding(model)) === 2 && (await waiting(model)) === 0;
  await eventually(`the worker of ${model} has two batches`, isOccupied);
  return calls;
}

test('requests of a worker that is killed while it runs are answered once each by its successor', async () => {
  const calls = [...(await occupy('killed', 500)), inferOverRest(server.url, 'killed', steps(1), { id: 'behind' })];
  await eventually('a third request waits', async () => (await waiting('killed')) === 1);
  const [victim] = server.workerPids('killed:1');
  process.kill(victim as number, 'SIGKILL');
  const answers = await Promise.all(calls);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers.map(stepsDone)).toEqual([[500n], [500n], [1n]]);
  expect(answers[2]?.id).toBe('behind');
  expect(isAlive(victim as number)).toBe(false);
  expect(server.workerPids('killed:1')).toHaveLength(2);
  const lost = server.records.find(({ message, group }) => group === 'killed:1' && message.startsWith('worker exited'));
  expect(lost).toMatchObject({ level: 'warn', reason: expect.stringContaining('SIGKILL') });
  expect(await server.metric('millrace_requests_total', { model: 'killed' })).toBe(3);
  expect(await outstanding('killed')).toBe(0);
});

test('a run over its time limit is refused as such and its worker is killed; the next request is answered', async () => {
  const restarts = await server.metric('millrace_worker_restarts_total');
  const hung = inferOverRest(server.url, 'limited', steps(5000));
  await eventually('it runs', async () => (await outstanding('limited')) === 1);
  const behind = inferOverRest(server.url, 'limited', steps(1));
  const refused = await hung;
  expect([refused.status, refused.code]).toEqual([504, 'run-time-limit']);
  expect(refused.error).toContain('200 ms');
  expect(stepsDone(await behind)).toEqual([1n]);
  expect(await server.metric('millrace_worker_restarts_total')).toBe(restarts + 1);
  expect(server.workerPids('limited:1')).toHaveLength(2);
  expect(await failures('limited', 'run-time-limit')).toBe(1);
});

test('a request beyond the queue\u2019s limit is refused at once with when to come back, and those in it are answered', async () => {
  const goOn = holdWorker(server, 'narrow:1');
  const held = [...(await occupy('narrow', 1))];
  held.push(inferOverRest(server.url, 'narrow', steps(1)), inferOverRest(server.url, 'narrow', steps(1)));
  await eventually('the queue is full', async () => (await waiting('narrow')) === 2);
  const refused = await inferOverRest(server.url, 'narrow', steps(1));
  expect([refused.status, refused.code]).toEqual([503, 'model-full']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  goOn();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await failures('narrow', 'model-full')).toBe(1);
  expect(await batchesRun('narrow')).toBe(4);
});

test.each([
  ['deadline_header', { headers: { 'millrace-timeout-ms': '30' } }],
  ['deadline_parameter', { parameters: { millrace_timeout_ms: 30 } }],
] as const)('a request whose %s passes while it waits is refused with 504 and never runs', async (model, options) => {
  const goOn = holdWorker(server, `${model}:1`);
  const held = await occupy(model, 1);
  const late = await inferOverRest(server.url, model, steps(1), options);
  expect([late.status, late.code]).toEqual([504, 'deadline-exceeded']);
  goOn();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
  expect(await waiting(model)).toBe(0);
  // One more answer: whatever had been queued before it would have run by then.
  expect((await inferOverRest(server.url, model, steps(0))).status).toBe(200);
  expect(await batchesRun(model)).toBe(3);
  expect(await failures(model, 'deadline-exceeded')).toBe(1);
});

test('a request whose caller disconnects is removed from the queue, or skipped by its worker, and never runs', async () => {
  const hangUp = new AbortController();
  const running = inferOverRest(server.url, 'left', steps(500));
  await eventually('the first request runs', async () => (await outstanding('left')) === 1);
  const abandoned = Array.from({ length: 3 }, () =>
    inferOverRest(server.url, 'left', steps(1), { signal: hangUp.signal }),
  );
  await eventually('one is held by the worker, two wait', async () => (await waiting('left')) === 2);
  hangUp.abort();
  for (const call of abandoned) await expect(call).rejects.toThrow();
  await eventually('all three are given up', async () => (await failures('left', 'cancelled')) === 3);
  expect(await waiting('left')).toBe(0);
  expect((await running).status).toBe(200);
  expect((await inferOverRest(server.url, 'left', steps(0))).status).toBe(200);
  expect(await batchesRun('left')).toBe(2);
});
