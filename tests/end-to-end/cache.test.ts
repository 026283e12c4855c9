/** The result cache with a real server and real workers: what is run, and what callers see. */
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type CallAnswer, inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

const models = new ModelRepository();
const cached = 'response_cache { enable: true }';
let server: ServerProcess;

beforeAll(async () => {
  for (const name of ['kept', 'together', 'left']) addSlowModel(models, name, {}, cached);
  addSlowModel(models, 'plain');
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

const stepsDone = (answer: CallAnswer) => answer.outputs.find(({ name }) => name === 'steps_done')?.values;
const batchesRun = (model: string) => server.metric('millrace_batch_rows_count', { model });
const misses = (model: string) => server.metric('millrace_cache_misses_total', { model });

test('a request that was answered before is answered from the cache, in any form of the answer', async () => {
  const first = await inferOverRest(server.url, 'kept', steps(3), { id: 'a' });
  const second = await inferOverRest(server.url, 'kept', steps(3), { id: 'b', form: 'binary' });
  const other = await inferOverRest(server.url, 'kept', steps(4));
  expect([first, second, other].map(stepsDone)).toEqual([[3n], [3n], [4n]]);
  expect([first.id, second.id]).toEqual(['a', 'b']);
  expect(await batchesRun('kept')).toBe(2);
  expect(await server.metric('millrace_cache_hits_total', { model: 'kept' })).toBe(1);
  expect(await server.metric('nv_cache_num_hits_per_model', { model: 'kept' })).toBe(1);
  expect(await server.metric('millrace_requests_total', { model: 'kept' })).toBe(3);
  expect(await server.metric('millrace_cache_bytes')).toBeGreaterThan(0);
});

test('a model without response_cache is not cached', async () => {
  await inferOverRest(server.url, 'plain', steps(3));
  await inferOverRest(server.url, 'plain', steps(3));
  expect(await batchesRun('plain')).toBe(2);
  expect(await misses('plain')).toBe(0);
});

test('identical requests at the same time are one run', async () => {
  const calls = Array.from({ length: 8 }, () => inferOverRest(server.url, 'together', steps(300)));
  const answers = await Promise.all(calls);
  expect(answers.map(stepsDone)).toEqual(answers.map(() => [300n]));
  expect(await batchesRun('together')).toBe(1);
  expect(await server.metric('millrace_requests_total', { model: 'together' })).toBe(8);
  const response = await fetch(`${server.url}/v2/models/together/stats`);
  expect(await response.json()).toMatchObject({
    model_stats: [
      {
        execution_count: 1,
        inference_stats: { success: { count: 8 }, cache_hit: { count: 7 }, cache_miss: { count: 1 } },
      },
    ],
  });
});

test('the run continues when the caller that started it disconnects', async () => {
  const leader = new AbortController();
  const left = inferOverRest(server.url, 'left', steps(500), { signal: leader.signal }).catch(() => 'left');
  await eventually('the first request is on its way', async () => (await misses('left')) === 1);
  const stays = inferOverRest(server.url, 'left', steps(500));
  const following = () => server.metric('millrace_cache_coalesced_total', { model: 'left' });
  await eventually('the second one waits for it', async () => (await following()) === 1);
  leader.abort();
  expect(await left).toBe('left');
  expect(stepsDone(await stays)).toEqual([500n]);
  expect(await batchesRun('left')).toBe(1);
});
