/** Labels, splits and shadows with real models, in every form of a model name, and after a restart. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdbStore } from '@millrace/store';
import { arithmeticModel, binaryModel, ModelRepository } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine } from 'millrace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-contexts-'));
/** `right` is the sum of all that came before. */
const statefulConfig = `
max_batch_size: 8
version_policy { all { } }
sequence_batching {
  state [ {
    input_name: "right" output_name: "sum" data_type: TYPE_FP32 dims: [ 2 ]
    initial_state { name: "nothing" data_type: TYPE_FP32 dims: [ 2 ] zero_data: true }
  } ]
}`;
const tensors = (...names: string[]): string =>
  names.map((name) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ 2 ] }`).join(', ');
const ensembleConfig = `
platform: "ensemble"
max_batch_size: 8
input [ ${tensors('left', 'right')} ]
output [ ${tensors('output')} ]
ensemble_scheduling {
  step [ {
    model_name: "calculator" model_version: -1
    input_map { key: "left" value: "left" }
    input_map { key: "right" value: "right" }
    output_map { key: "output" value: "output" }
  } ]
}`;
const models = new ModelRepository()
  .write('calculator/1/model.onnx', binaryModel('Add'))
  .write('calculator/2/model.onnx', binaryModel('Mul'))
  .write('calculator/3/model.onnx', binaryModel('Add'))
  .write('calculator/config.pbtxt', 'max_batch_size: 8 version_policy { all { } }')
  .write('total/1/model.onnx', arithmeticModel(2))
  .write('total/2/model.onnx', arithmeticModel(2))
  .write('total/config.pbtxt', statefulConfig)
  .write('steps/config.pbtxt', ensembleConfig)
  .write('steps/1/.keep', '');
afterAll(() => {
  models.remove();
  rmSync(folder, { recursive: true });
});

const named = [
  { name: 'left', datatype: 'FP32', shape: [1, 2], values: [3, 5] },
  { name: 'right', datatype: 'FP32', shape: [1, 2], values: [4, 6] },
] as const;
const values = {
  left: { shape: [1, 2], data: Float32Array.of(3, 5) },
  right: { shape: [1, 2], data: Float32Array.of(4, 6) },
};

describe("in a program of one's own", () => {
  let engine: EmbeddedEngine;
  beforeAll(async () => {
    engine = await createEngine({ models: models.path, worker: { lane: 'inline' } });
  });
  afterAll(() => engine.close());

  const versionOf = async (model: string, version?: string): Promise<string> =>
    (await engine.infer(model, values, version === undefined ? {} : { version })).version;

  test('a model is named with a version or a label, and answers under its real name', async () => {
    await engine.changeTraffic('calculator', { labels: new Map([['stable', '1']]) });
    expect(await engine.infer('calculator@stable', values)).toMatchObject({ model: 'calculator', version: '1' });
    expect(await versionOf('calculator:2')).toBe('2');
    expect(await versionOf('calculator')).toBe('3');
    expect(engine.model('calculator@stable')).toMatchObject({ name: 'calculator', version: '1' });
    await expect(versionOf('calculator:2', '1')).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(versionOf('calculator@canary')).rejects.toMatchObject({ code: 'unknown-model' });
  });

  test('a label that is moved under load stands for the old version or the new one at every moment', async () => {
    // Moves asked for and moves that were made: while they are equal, the label stands for one version only.
    let asked = 0;
    let made = 0;
    let isMoving: boolean = true;
    const versionAfter = (move: number): string => (move % 2 === 0 ? '1' : '2');
    const seen = new Map<string, number>();
    const ask = async (): Promise<void> => {
      while (isMoving) {
        const before = made;
        const version = await versionOf('calculator@moving');
        const possible = new Set<string>();
        for (let move = before; move <= asked; move++) possible.add(versionAfter(move));
        expect(possible).toContain(version);
        seen.set(version, (seen.get(version) ?? 0) + 1);
      }
    };
    await engine.changeTraffic('calculator', { labels: new Map([['moving', versionAfter(0)]]) });
    const callers = Promise.all(Array.from({ length: 8 }, ask));
    for (let move = 1; move <= 200; move++) {
      asked = move;
      await engine.changeTraffic('calculator', { labels: new Map([['moving', versionAfter(move)]]) });
      made = move;
      expect(await versionOf('calculator@moving')).toBe(versionAfter(move));
    }
    isMoving = false;
    await callers;
    for (const version of ['1', '2']) expect(seen.get(version)).toBeGreaterThan(100);
  });

  test('a split sends each version its share', async () => {
    const split = [
      { version: '1', weight: 3 },
      { version: '2', weight: 1 },
    ];
    await engine.changeTraffic('calculator', { split });
    const versions = await Promise.all(Array.from({ length: 400 }, () => versionOf('calculator')));
    const first = versions.filter((version) => version === '1').length;
    expect(versions).not.toContain('3');
    // Seven standard deviations of 400 draws with a share of three quarters.
    expect(Math.abs(first - 300)).toBeLessThan(61);
    await engine.changeTraffic('calculator', { split: [] });
    expect(await versionOf('calculator')).toBe('3');
  });

  test('a split also decides for the steps of an ensemble', async () => {
    const run = async (): Promise<unknown> => (await engine.infer('steps', values)).outputs.output?.data;
    expect(await run()).toEqual(Float32Array.of(7, 11));
    await engine.changeTraffic('calculator', { split: [{ version: '2', weight: 1 }] });
    expect(await run()).toEqual(Float32Array.of(12, 30));
    await engine.changeTraffic('calculator', { split: [] });
  });

  test('a sequence goes on with the version it began with, though its label was moved', async () => {
    const step = async (number: number, isStart: boolean): Promise<unknown[]> => {
      const left = { shape: [1, 2], data: Float32Array.of(number, number) };
      const { version, outputs } = await engine.infer('total@stable', { left }, { sequence: { id: 7, isStart } });
      return [version, outputs.product?.data[0]];
    };
    await engine.changeTraffic('total', { labels: new Map([['stable', '1']]) });
    expect(await step(3, true)).toEqual(['1', 0]);
    await engine.changeTraffic('total', { labels: new Map([['stable', '2']]) });
    expect(await step(5, false)).toEqual(['1', 15]);
    expect(await step(3, true)).toEqual(['2', 0]);
  });
});

describe('in a server', () => {
  const store = join(folder, 'server');
  let server: ServerProcess;
  beforeAll(async () => {
    // As an operator left it: the server reads it when it starts.
    const engine = await createEngine({ models: models.path, worker: { lane: 'inline' }, store: { path: store } });
    await engine.changeTraffic('calculator', {
      labels: new Map([
        ['stable', '1'],
        ['other', '2'],
      ]),
      shadows: [
        { version: '2', percent: 100 },
        { version: '3', percent: 100 },
      ],
    });
    await engine.close();
    server = await ServerProcess.start([models.path, '--store-path', store]);
  });
  afterAll(async () => expect(await server.stop()).toBe(0));

  test.each([
    ['calculator@stable', '1'],
    ['calculator%40other', '2'],
    ['calculator:1', '1'],
    ['calculator%3A2', '2'],
    ['calculator', '3'],
  ])(
    'REST: %s is version %s, for requests, metadata, configuration, readiness and statistics',
    async (name, version) => {
      const answer = await inferOverRest(server.url, name, named);
      expect([answer.status, answer.version]).toEqual([200, version]);
      const get = (path: string) => fetch(`${server.url}/v2/models/${name}${path}`);
      const metadata = (await (await get('')).json()) as { name: string; versions: string[] };
      expect(metadata.name).toBe('calculator');
      expect(metadata.versions).toEqual(name === 'calculator' ? ['1', '2', '3'] : [version]);
      expect(await (await get('/config')).json()).toMatchObject({ name: 'calculator' });
      expect((await get('/ready')).status).toBe(200);
      const { model_stats: counted } = (await (await get('/stats')).json()) as { model_stats: { version: string }[] };
      expect(counted.map((one) => one.version)).toEqual(metadata.versions);
    },
  );

  test('REST: contradictory and unknown names are refused by their codes', async () => {
    expect(await inferOverRest(server.url, 'calculator:1', named, { version: '2' })).toMatchObject({
      status: 400,
      code: 'invalid-request',
    });
    const unknown = await inferOverRest(server.url, 'calculator@canary', named);
    expect(unknown).toMatchObject({ status: 404, code: 'unknown-model' });
    expect(unknown.error).toContain("it has 'other', 'stable'");
    expect((await inferOverRest(server.url, 'calculator@stable', named, { version: '1' })).status).toBe(200);
  });

  test('gRPC: the name of the model has a version or a label', async () => {
    const call = async (method: string, message: object): Promise<Record<string, unknown>> => {
      const path = method.includes('/') ? method : `inference.GRPCInferenceService/${method}`;
      const response = await fetch(`${server.grpcUrl}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    const inputs = named.map(({ values: fp32Contents, ...input }) => ({ ...input, contents: { fp32Contents } }));
    for (const [name, version] of [
      ['calculator@other', '2'],
      ['calculator:1', '1'],
    ]) {
      const answered = { modelName: 'calculator', modelVersion: version };
      expect(await call('ModelInfer', { modelName: name, inputs })).toMatchObject(answered);
      expect(await call('ModelMetadata', { name })).toMatchObject({ name: 'calculator', versions: [version] });
      expect(await call('ModelReady', { name })).toEqual({ ready: true });
      expect(await call('ModelStatistics', { name })).toMatchObject({ modelStats: [{ name: 'calculator', version }] });
      expect(await call('grpc.health.v1.Health/Check', { service: name })).toEqual({ status: 'SERVING' });
    }
    expect(await call('grpc.health.v1.Health/Check', { service: 'calculator@none' })).toMatchObject({
      code: 'not_found',
    });
    expect(await call('ModelInfer', { modelName: 'calculator@none', inputs })).toMatchObject({ code: 'not_found' });
    const contradiction = { modelName: 'calculator:1', modelVersion: '2', inputs };
    expect(await call('ModelInfer', contradiction)).toMatchObject({ code: 'invalid_argument' });
  });

  test('shadows run the requests of another version, and their answers are compared', async () => {
    const count = (version: string, outcome: string) =>
      server.metric('millrace_shadow_requests_total', { model: 'calculator', version, outcome });
    const before = { different: await count('2', 'different'), equal: await count('3', 'equal') };
    for (let call = 0; call < 5; call++) {
      const { outputs } = await inferOverRest(server.url, 'calculator@stable', named, { form: 'binary' });
      expect(outputs[0]?.values).toEqual([7, 11]);
    }
    await eventually('every copy has run', async () => {
      const different = (await count('2', 'different')) - before.different;
      const equal = (await count('3', 'equal')) - before.equal;
      return different === 5 && equal === 5;
    });
  });

  test('a store that another server uses is refused with what to do', async () => {
    await expect(createEngine({ models: models.path, store: { path: store } })).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining('is in use by another server'),
    });
  });
});

test('after a server was killed the store opens at once, with everything in it', async () => {
  const path = join(folder, 'killed');
  const seed = await createEngine({ models: models.path, worker: { lane: 'inline' }, store: { path } });
  const kept = await seed.changeTraffic('calculator', {
    labels: new Map([['stable', '1']]),
    split: [{ version: '2', weight: 1 }],
  });
  await seed.close();
  const server = await ServerProcess.start([models.path, '--store-path', path]);
  server.child.kill('SIGKILL');
  await server.exit;
  const store = await openLmdbStore({ path });
  expect((await store.list('traffic/')).map(({ key }) => key)).toEqual(['traffic/calculator']);
  await store.close();
  expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb']);
  const again = await createEngine({ models: models.path, worker: { lane: 'inline' }, store: { path } });
  expect(again.traffic('calculator')).toEqual(kept);
  expect((await again.infer('calculator', values)).version).toBe('2');
  await again.close();
});
