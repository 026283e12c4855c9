/** What a scrape shows before the first request: `increase()` sees an event only if the series was there before it. */
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { samplesFrom } from '../support/metrics.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  models
    .write('plain/1/model.onnx', binaryModel('Add'))
    .write('cached/1/model.onnx', binaryModel('Add'))
    .write('cached/config.pbtxt', 'response_cache { enable: true }');
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

const scrape = async () => samplesFrom(await (await fetch(server.metricsUrl)).text());

test('Triton: the counters of a ready model are 0 before its first request, and the first failure is an increase', async () => {
  const before = await scrape();
  const zero = [
    'nv_inference_request_success{model="plain",version="1"}',
    ...['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map(
      (reason) => `nv_inference_request_failure{model="plain",version="1",reason="${reason}"}`,
    ),
    'nv_inference_count{model="plain",version="1"}',
    'nv_inference_exec_count{model="plain",version="1"}',
    'nv_cache_num_hits_per_model{model="cached",version="1"}',
    'millrace_cache_hits_total{model="cached",version="1"}',
    'millrace_requests_total{model="plain",version="1"}',
    'millrace_failures_total{model="plain",version="1",code="inference-failed"}',
    'millrace_failures_total{model="plain",version="1",code="deadline-exceeded"}',
    'millrace_evictions_total{model="plain",version="1"}',
    'millrace_failures_total{model="",version="",code="unknown-model"}',
    'millrace_cache_evictions_total',
    'millrace_worker_restarts_total',
  ];
  expect(zero.map((name) => [name, before.get(name)])).toEqual(zero.map((name) => [name, 0]));
  const wrong = { name: 'left', datatype: 'INT8' as const, shape: [1, 2], values: [1, 2] };
  expect((await inferOverRest(server.url, 'plain', [wrong])).status).toBe(400);
  expect((await inferOverRest(server.url, 'nowhere', [wrong])).status).toBe(404);
  const after = await scrape();
  const changed = [...after].filter(([name, value]) => /^millrace_failures_total/.test(name) && value !== 0);
  expect(Object.fromEntries(changed)).toEqual({
    'millrace_failures_total{model="",version="",code="unknown-model"}': 1,
    'millrace_failures_total{model="plain",version="1",code="invalid-request"}': 1,
  });
  expect([...after.keys()].filter((name) => !before.has(name))).toEqual([]);
});
