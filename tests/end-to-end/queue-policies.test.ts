/** Triton's dynamic batching with a real server and real workers, seen from REST and gRPC. */
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { holdWorker } from '../support/hold-worker.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

const models = new ModelRepository();
let server: ServerProcess;
let client: InferClient;

beforeAll(async () => {
  // Held back for longer than any test takes.
  const delay = 'max_queue_delay_microseconds: 600000000';
  models
    .write('fours/1/model.onnx', binaryModel('Add'))
    .write('fours/config.pbtxt', `max_batch_size: 8 dynamic_batching { preferred_batch_size: 4 ${delay} }`);
  addSlowModel(
    models,
    'timed',
    {},
    'dynamic_batching { default_queue_policy { default_timeout_microseconds: 60000000 allow_timeout_override: true } }',
  );
  const number = (name: string) => `{ name: "${name}" data_type: TYPE_INT64 dims: [ 1 ] }`;
  models.write(
    'of_timed/config.pbtxt',
    `platform: "ensemble" input ${number('steps')} output ${number('done')} ensemble_scheduling { step {
      model_name: "timed" model_version: -1
      input_map { key: "steps" value: "steps" } output_map { key: "steps_done" value: "done" } } }`,
  );
  addSlowModel(
    models,
    'override_only',
    {},
    'dynamic_batching { default_queue_policy { allow_timeout_override: true } }',
  );
  addSlowModel(models, 'levels', {}, 'dynamic_batching { priority_levels: 3 default_priority_level: 2 }');
  addSlowModel(models, 'full', {}, 'dynamic_batching { default_queue_policy { max_queue_size: 1 } }');
  addSlowModel(models, 'ordered', {}, 'instance_group { count: 2 } dynamic_batching { preserve_ordering: true }');
  server = await ServerProcess.start([models.path, '--no-share-workers']);
  client = openInferClient(server);
});

afterAll(async () => {
  client.close();
  expect(await server.stop()).toBe(0);
  models.remove();
});

const tensor = (name: string, value: number) => ({
  name,
  datatype: 'FP32' as const,
  shape: [1, 2],
  values: [value, value],
});
const add = (model: string, value: number) =>
  inferOverRest(server.url, model, [tensor('left', value), tensor('right', 1)]);
const waiting = (model: string) => server.metric('millrace_queue_requests', { model });
const dispatched = async (model: string) =>
  (await server.metric('millrace_outstanding_requests', { model })) - (await waiting(model));

/** Holds the model's worker, with the two batches that it takes: what comes now waits until `release`. */
async function occupy(
  model: string,
): Promise<{ readonly held: Promise<unknown>; readonly release: () => Promise<void> }> {
  const goOn = holdWorker(server, `${model}:1`);
  const first = inferOverRest(server.url, model, steps(1));
  await eventually('the worker has one', async () => (await dispatched(model)) === 1);
  const second = inferOverRest(server.url, model, steps(1));
  await eventually('the worker is occupied', async () => (await dispatched(model)) === 2);
  const held = Promise.all([first, second]);
  return {
    held,
    async release() {
      goOn();
      await held;
    },
  };
}

test('requests that make a preferred size run as one batch, long before the delay is over', async () => {
  const calls = [add('fours', 1), add('fours', 2), add('fours', 3)];
  await eventually('three wait', async () => (await waiting('fours')) === 3);
  const answers = await Promise.all([...calls, add('fours', 4)]);
  expect(answers.map(({ outputs }) => outputs[0]?.values[0])).toEqual([2, 3, 4, 5]);
  expect(await server.metric('millrace_batch_rows_count', { model: 'fours' })).toBe(1);
});

test('Triton: a batch at or over the largest preferred size runs at once', async () => {
  const six = (name: string) => ({ name, datatype: 'FP32' as const, shape: [6, 2], values: new Array(12).fill(1) });
  const answer = await inferOverRest(server.url, 'fours', [six('left'), six('right')]);
  expect(answer.outputs[0]).toMatchObject({ shape: [6, 2], values: new Array(12).fill(2) });
});

test('a queue timeout is refused with Triton’s message while the worker is busy', async () => {
  const { held, release } = await occupy('timed');
  let isBusy = true;
  void held.then(() => {
    isBusy = false;
  });
  const late = await inferOverRest(server.url, 'timed', steps(1), { parameters: { timeout: 20_000 } });
  expect([late.status, late.code, isBusy]).toEqual([503, 'queue-timeout', true]);
  expect(late.error).toContain('Request timeout expired');
  await release();
});

/** The code and text of a refusal over gRPC; code 0 when it was answered. */
function inferGrpc(model: string, parameters: Record<string, number>): Promise<{ code: number; text: string }> {
  const entries = Object.entries(parameters).map(([key, value]) => [key, { int64_param: value }]);
  const request = {
    model_name: model,
    parameters: Object.fromEntries(entries),
    inputs: [{ name: 'steps', datatype: 'INT64', shape: [1] }],
    raw_input_contents: [Buffer.from(BigInt64Array.of(1n).buffer)],
  };
  return new Promise((resolve) => {
    client.ModelInfer(request, (error) => resolve({ code: error?.code ?? 0, text: error?.details ?? '' }));
  });
}

test('Triton: a queue timeout through an ensemble is refused as it is by the model itself', async () => {
  const { release } = await occupy('timed');
  const parameters = { timeout: 20_000 };
  const [direct, through, grpcDirect, grpcThrough] = await Promise.all([
    inferOverRest(server.url, 'timed', steps(1), { parameters }),
    inferOverRest(server.url, 'of_timed', steps(1), { parameters }),
    inferGrpc('timed', parameters),
    inferGrpc('of_timed', parameters),
  ]);
  expect([direct.status, direct.code]).toEqual([503, 'queue-timeout']);
  expect([through.status, through.code, through.error]).toEqual([direct.status, direct.code, direct.error]);
  expect(direct.error).toMatch(/^Request timeout expired/);
  expect(grpcDirect).toEqual({ code: 14, text: direct.error });
  expect(grpcThrough).toEqual(grpcDirect);
  await release();
});

test.each(['levels', 'override_only'])(
  'Triton: the timeout of a request is ignored by %s, which has no default timeout; millrace_timeout_ms is a deadline',
  async (model) => {
    const { release } = await occupy(model);
    const ignored = [
      inferOverRest(server.url, model, steps(1), { parameters: { timeout: 1 } }).then(({ status }) => status),
      inferGrpc(model, { timeout: 1 }).then(({ code }) => code),
    ];
    const parameters = { millrace_timeout_ms: 20 };
    const late = await inferOverRest(server.url, model, steps(1), { parameters });
    expect([late.status, late.code]).toEqual([504, 'deadline-exceeded']);
    expect((await inferGrpc(model, parameters)).code).toBe(4);
    await release();
    expect(await Promise.all(ignored)).toEqual([200, 0]);
  },
);

test('a full queue is refused with Triton’s message', async () => {
  const { release } = await occupy('full');
  const waits = inferOverRest(server.url, 'full', steps(1));
  await eventually('one waits', async () => (await waiting('full')) === 1);
  const refused = await inferOverRest(server.url, 'full', steps(1));
  expect([refused.status, refused.code]).toEqual([503, 'model-full']);
  expect(refused.error).toContain('Exceeds maximum queue size');
  await release();
  expect((await waits).status).toBe(200);
});

test('an urgent request is answered before others that came earlier', async () => {
  const { release } = await occupy('levels');
  const order: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (const priority of [3, 0, 1]) {
    calls.push(
      inferOverRest(server.url, 'levels', steps(20), { parameters: { priority } }).then(() => order.push(priority)),
    );
    await eventually('it waits', async () => (await waiting('levels')) === calls.length);
  }
  await release();
  await Promise.all(calls);
  expect(order).toEqual([1, 0, 3]);
});

test('answers leave in the order of arrival, although another instance was quicker', async () => {
  const order: string[] = [];
  const long = inferOverRest(server.url, 'ordered', steps(400)).then(() => order.push('long'));
  await eventually('it runs', async () => (await dispatched('ordered')) === 1);
  const short = inferOverRest(server.url, 'ordered', steps(1)).then(() => order.push('short'));
  await Promise.all([long, short]);
  expect(order).toEqual(['long', 'short']);
});
