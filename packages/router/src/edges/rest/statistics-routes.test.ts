import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { Statistics } from '../../management/statistics.ts';
import { ModelTally } from '../../telemetry/model-tally.ts';
import { echoEdge } from './testing/echo-double.ts';

const batch = { computeInputMs: 0.25, computeInferMs: 3, computeOutputMs: 0.5 };
const tally = new ModelTally(() => 1_700_000_000_000);
tally.batchRan(4, batch);
tally.requestAnswered({ ...batch, queueMs: 2, totalMs: 8 });
// More nanoseconds in all than a double holds.
for (let count = 0; count < 20; count += 1) tally.requestAnswered({ ...batch, queueMs: 1e9, totalMs: 1e9 });
tally.requestAnswered({ ...batch, queueMs: 0.000_001, totalMs: 8 });
tally.requestFailed(1);

const statistics: Statistics = {
  of(model, version) {
    if (model === 'nope') throw new InferenceError('invalid-request', "requested model 'nope' is not available");
    const memory = [{ type: 'CPU', id: 0, bytes: 1024 }] as const;
    return [{ name: 'm', version: version === '' ? '1' : version, ...tally.statistics(), memory }];
  },
};
const edge = echoEdge({ statistics });
const get = async (target: string) => {
  const reply = await edge.call({ target });
  return { status: reply.status, text: reply.text() };
};

test('statistics have exactly the members Triton has, and exact nanoseconds', async () => {
  const { status, text } = await get('/v2/models/m/stats');
  expect(status).toBe(200);
  const [only] = (JSON.parse(text) as { model_stats: Record<string, unknown>[] }).model_stats;
  expect(only).toMatchObject({
    name: 'm',
    version: '1',
    last_inference: 1_700_000_000_000,
    inference_count: 4,
    execution_count: 1,
    batch_stats: [
      {
        batch_size: 4,
        compute_input: { count: 1, ns: 250_000 },
        compute_infer: { count: 1, ns: 3_000_000 },
        compute_output: { count: 1, ns: 500_000 },
      },
    ],
    memory_usage: [{ type: 'CPU', id: 0, byte_size: 1024 }],
    response_stats: {},
  });
  expect(only?.inference_stats).toMatchObject({
    success: { count: 22 },
    fail: { count: 1, ns: 1_000_000 },
    queue: { count: 22 },
    compute_input: { count: 22, ns: 5_500_000 },
    compute_infer: { count: 22, ns: 66_000_000 },
    compute_output: { count: 22, ns: 11_000_000 },
    cache_hit: { count: 0, ns: 0 },
    cache_miss: { count: 0, ns: 0 },
  });
  expect(text).toContain('"queue":{"count":22,"ns":20000000002000001}');
});

test('all models and one version have paths of their own', async () => {
  expect((await get('/v2/models/stats')).status).toBe(200);
  expect(JSON.parse((await get('/v2/models/m/versions/7/stats')).text).model_stats[0].version).toBe('7');
  expect(await get('/v2/models/nope/stats')).toEqual({
    status: 400,
    text: `{"error":"requested model 'nope' is not available"}`,
  });
});

test('the extension is listed only where there are statistics', async () => {
  expect(JSON.parse((await get('/v2')).text).extensions).toContain('statistics');
  const bare = echoEdge();
  expect(JSON.parse((await bare.call({ target: '/v2' })).text()).extensions).not.toContain('statistics');
  expect((await bare.call({ target: '/v2/models/stats/ready' })).status).toBe(400);
  expect((await bare.call({ target: '/v2/models/m/stats' })).status).toBe(404);
});
