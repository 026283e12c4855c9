/** Requests and models that crash their workers, with worker processes that really die. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { crashFile, hangFile, poisonValue, spoilingValue } from '../support/faults.ts';
import { FaultyServer } from '../support/faulty-server.ts';
import type { NamedValues } from '../support/golden.ts';
import { repositoryRoot } from '../support/repository-root.ts';

let models: ModelRepository;
let server: FaultyServer | undefined;

beforeEach(() => {
  models = new ModelRepository();
});
afterEach(async () => {
  await server?.close();
  models.remove();
});

/** A mean of rows, so that what comes back depends on what went in. */
function addModel(name: string): void {
  models.copy(join(repositoryRoot, 'tests/models/accumulator'), name);
}

function rowOf(value: number): readonly NamedValues[] {
  return [
    { name: 'value', datatype: 'FP32', shape: [1, 1], values: [value] },
    { name: 'state', datatype: 'FP32', shape: [1, 2], values: [0, 0] },
  ];
}

async function start(worker: Parameters<typeof FaultyServer.start>[1] = {}): Promise<FaultyServer> {
  server = await FaultyServer.start(models.path, worker);
  return server;
}

const hasState = (at: FaultyServer, model: string, state: string) => () => at.status(model)?.state === state;

test('a request that kills every worker is refused after two, and its batch neighbours are answered', async () => {
  addModel('mean');
  const at = await start();
  await eventually('the model is ready', hasState(at, 'mean', 'ready'));
  // Calls of one turn share a batch: this one shows it, the next ones rely on it.
  expect(
    (await Promise.all([5, 6, 7].map((value) => at.infer('mean', rowOf(value))))).map(({ status }) => status),
  ).toEqual([200, 200, 200]);
  expect(await at.metric('millrace_batch_rows_count', { model: 'mean' })).toBe(1);
  const values = [1, poisonValue, 3, 4];
  const answers = await Promise.all(values.map((value) => at.infer('mean', rowOf(value), `r${value}`)));
  expect(answers.map(({ status, code }) => `${status} ${code}`)).toEqual([
    '200 ',
    '500 poison-request',
    '200 ',
    '200 ',
  ]);
  expect(answers.map(({ outputs }) => outputs.find(({ name }) => name === 'mean')?.values)).toEqual([
    [1],
    undefined,
    [3],
    [4],
  ]);
  expect(await at.metric('millrace_worker_restarts_total')).toBe(2);
  expect(await at.metric('millrace_failures_total', { code: 'poison-request' })).toBe(1);
  expect(await at.metric('millrace_outstanding_requests', { model: 'mean' })).toBe(0);
});

test('a run that spoils its process ends it, and is refused like one that kills it', async () => {
  addModel('mean');
  const at = await start();
  await eventually('the model is ready', hasState(at, 'mean', 'ready'));
  const answers = await Promise.all([1, spoilingValue, 3].map((value) => at.infer('mean', rowOf(value))));
  expect(answers.map(({ status, code }) => `${status} ${code}`)).toEqual(['200 ', '500 poison-request', '200 ']);
  expect(await at.metric('millrace_worker_restarts_total')).toBe(2);
});

test('a model whose load kills the worker fails with the reason, others serve, and it serves once it is good again', async () => {
  addModel('good');
  addModel('bad');
  models.write(join('bad/1', crashFile), '');
  const at = await start();
  await eventually('the other model is ready', hasState(at, 'good', 'ready'));
  await eventually('the model has failed', hasState(at, 'bad', 'failed'));
  expect(at.status('bad')?.reason).toMatch(
    /crash loop: its worker exited 5 times in a row or more without an answer, last: .*SIGSEGV/,
  );
  const refused = await at.infer('bad', rowOf(1));
  expect([refused.status, refused.code]).toEqual([503, 'model-not-ready']);
  expect(refused.error).toContain('exited 5 times');
  expect((await at.infer('good', rowOf(7))).status).toBe(200);
  rmSync(join(models.path, 'bad/1', crashFile));
  await eventually('the model is ready again', hasState(at, 'bad', 'ready'));
  expect((await at.infer('bad', rowOf(2))).outputs[0]?.values).toEqual([2]);
});

test('a worker that hangs in a load is killed after worker.loadSecondsMax, and its model serves once it loads', async () => {
  addModel('hanging');
  models.write(join('hanging/1', hangFile), '');
  const at = await start({ loadSecondsMax: 5 });
  await eventually('the model has failed', hasState(at, 'hanging', 'failed'));
  expect(at.status('hanging')?.reason).toMatch(
    /^loading hanging:1 took longer than 5 s \(worker\.loadSecondsMax\), and the worker was killed; .*SIGKILL/,
  );
  expect(await at.metric('millrace_worker_restarts_total')).toBeGreaterThanOrEqual(1);
  rmSync(join(models.path, 'hanging/1', hangFile));
  await eventually('the model is ready', hasState(at, 'hanging', 'ready'));
  expect((await at.infer('hanging', rowOf(2))).status).toBe(200);
});
