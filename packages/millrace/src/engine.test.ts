import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from '@millrace/http';
import { ConfigError, type Datatype } from '@millrace/protocol';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createEngine, type EmbeddedEngine } from './engine.ts';
import type { EngineOptions } from './engine-options.ts';
import type { InputValue, TypedArray } from './tensor-values.ts';

/** Those of a local lane start worker processes. */
const lanes = process.env.TEST_LONG === '1' ? (['inline', 'local'] as const) : (['inline'] as const);

const everyDatatype: readonly (readonly [Exclude<Datatype, 'BF16' | 'BYTES'>, InputValue['data'], TypedArray])[] = [
  ['BOOL', [true, false], Uint8Array.of(1, 0)],
  ['UINT8', [0, 255], Uint8Array.of(0, 255)],
  ['UINT16', [0, 65_535], Uint16Array.of(0, 65_535)],
  ['UINT32', [0, 4_294_967_295], Uint32Array.of(0, 4_294_967_295)],
  ['UINT64', [0, 18_446_744_073_709_551_615n], BigUint64Array.of(0n, 18_446_744_073_709_551_615n)],
  ['INT8', [-128, 127], Int8Array.of(-128, 127)],
  ['INT16', [-32_768, 32_767], Int16Array.of(-32_768, 32_767)],
  ['INT32', [-2_147_483_648, 2_147_483_647], Int32Array.of(-2_147_483_648, 2_147_483_647)],
  ['INT64', [-9_223_372_036_854_775_808n, 7], BigInt64Array.of(-9_223_372_036_854_775_808n, 7n)],
  ['FP16', [1.5, -2], Float32Array.of(1.5, -2)],
  ['FP32', [0.5, -0.25], Float32Array.of(0.5, -0.25)],
  ['FP64', [0.1, -1e300], Float64Array.of(0.1, -1e300)],
];
const identities = [...everyDatatype.map(([datatype]) => `identity_${datatype.toLowerCase()}`), 'identity_bytes'];

const testModels = fileURLToPath(new URL('../../../tests/models', import.meta.url));
const repositories: ModelRepository[] = [];
const engines: EmbeddedEngine[] = [];

/** With copies of these test models; removed after the test. */
function repositoryOf(...names: readonly string[]): ModelRepository {
  const made = new ModelRepository();
  repositories.push(made);
  return withDemo(made, ...names);
}

function withDemo(made: ModelRepository, ...names: readonly string[]): ModelRepository {
  for (const name of names) made.copy(join(testModels, name));
  return made;
}

async function engineOf(models: string, options: Omit<EngineOptions, 'models'> = {}): Promise<EmbeddedEngine> {
  const engine = await createEngine({ models, ...options });
  engines.push(engine);
  return engine;
}

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
  for (const made of repositories.splice(0)) made.remove();
});

describe.each(lanes)('on the %s lane', (lane) => {
  const demo = withDemo(new ModelRepository(), 'add_sub', ...identities);
  let engine: EmbeddedEngine;
  beforeAll(async () => {
    engine = await createEngine({ models: demo.path, worker: { lane } });
  });
  afterAll(async () => {
    await engine.close();
    demo.remove();
  });

  test.each(everyDatatype)(
    '%s goes in as a list or a typed array and comes out as it was',
    async (datatype, list, typed) => {
      for (const data of [list, typed]) {
        const { outputs } = await engine.infer(`identity_${datatype.toLowerCase()}`, {
          INPUT0: { shape: [1, 2], data },
        });
        expect(outputs).toEqual({ OUTPUT0: { datatype, shape: [1, 2], data: typed } });
      }
    },
  );

  test('BYTES go in as text or bytes and come out as text', async () => {
    const data = ['zwölf', new TextEncoder().encode('🦀'), ''];
    const { outputs } = await engine.infer('identity_bytes', { INPUT0: { shape: [1, 3], data } });
    expect(outputs).toEqual({ OUTPUT0: { datatype: 'BYTES', shape: [1, 3], data: ['zwölf', '🦀', ''] } });
  });

  test('an answer has model, version, id, and only the outputs asked for, in memory of its own', async () => {
    const row = (value: number): InputValue => ({ shape: [1, 16], data: new Array<number>(16).fill(value) });
    const calls = Array.from({ length: 20 }, (_, index) =>
      engine.infer('add_sub', { INPUT0: row(index), INPUT1: row(1) }, { id: `r${index}`, outputs: ['OUTPUT1'] }),
    );
    for (const [index, result] of (await Promise.all(calls)).entries()) {
      expect(result).toMatchObject({ model: 'add_sub', version: '1', id: `r${index}` });
      expect(Object.keys(result.outputs)).toEqual(['OUTPUT1']);
      expect(result.outputs.OUTPUT1?.data).toEqual(new Int32Array(16).fill(index - 1));
    }
  });

  test('the handler answers injected calls of the REST protocol', async () => {
    expect((await inject(engine.handler, { target: '/v2/health/ready' })).status).toBe(200);
    const body = new TextEncoder().encode(
      JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 2], data: [1.5, 2] }] }),
    );
    const response = await inject(engine.handler, { method: 'POST', target: '/v2/models/identity_fp32/infer', body });
    expect(response.status).toBe(200);
    expect(JSON.parse(response.text())).toMatchObject({
      outputs: [{ name: 'OUTPUT0', shape: [1, 2], data: [1.5, 2] }],
    });
    const unknown = await inject(engine.handler, { target: '/v2/models/nobody' });
    expect(unknown.status).toBe(404);
  });

  const wrong: readonly (readonly [string, string, Record<string, InputValue>, object, string])[] = [
    ['an unknown model', 'nobody', {}, { code: 'unknown-model' }, "'nobody' is not found"],
    [
      'a value of another type',
      'identity_int8',
      { INPUT0: { shape: [1, 1], data: [300] } },
      { code: 'invalid-request' },
      "element 0 of input 'INPUT0' is 300, which is not a value of INT8",
    ],
    [
      'a shape that is not the data\u2019s',
      'identity_fp32',
      { INPUT0: { shape: [1, 3], data: [1, 2] } },
      { code: 'invalid-request' },
      "input byte size mismatch for input 'INPUT0' for model 'identity_fp32'. Expected 12, got 8",
    ],
    [
      'another datatype than the model\u2019s',
      'identity_fp32',
      { INPUT0: { shape: [1, 1], data: [1], datatype: 'INT32' } },
      { code: 'invalid-request' },
      "inference input 'INPUT0' data-type is 'INT32', but model 'identity_fp32' expects 'FP32'",
    ],
    [
      'an input the model does not have',
      'identity_fp32',
      { other: { shape: [1], data: ['text'] } },
      { code: 'invalid-request' },
      "unexpected inference input 'other' for model 'identity_fp32'",
    ],
    ['a missing input', 'identity_fp32', {}, { code: 'invalid-request' }, "missing required input(s) ['INPUT0']"],
  ];
  test.each(wrong)('%s is refused by name', async (_, model, inputs, code, message) => {
    const call = engine.infer(model, inputs);
    await expect(call).rejects.toMatchObject(code);
    await expect(call).rejects.toThrow(message);
  });

  test('a request without inputs is refused with what to give', async () => {
    const engine = await engineOf(repositoryOf('slow').path);
    const nothing = undefined as unknown as Record<string, never>;
    await expect(engine.infer('slow', nothing)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('inputs is undefined; give the inputs of the model by name'),
    });
  });

  test.each([-1, Number.NaN, '5' as unknown as number])('a timeoutMs of %o is refused', async (timeoutMs) => {
    const call = engine.infer('identity_fp32', { INPUT0: { shape: [1, 1], data: [1] } }, { timeoutMs });
    await expect(call).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(call).rejects.toThrow(`timeoutMs is ${timeoutMs}; it must be a number of milliseconds`);
  });
});

const slowly = (steps: number): Record<string, InputValue> => ({ steps: { shape: [1], data: [steps] } });

test('a request is given up by its signal or its timeout, and the others are answered', async () => {
  const engine = await engineOf(repositoryOf('slow').path);
  const controller = new AbortController();
  const { signal } = controller;
  const first = engine.infer('slow', slowly(150));
  const second = engine.infer('slow', slowly(1), { signal: new AbortController().signal });
  const aborted = engine.infer('slow', slowly(1), { signal });
  const late = engine.infer('slow', slowly(1), { timeoutMs: 20 });
  const timedOut = engine.infer('slow', slowly(1), { signal: AbortSignal.timeout(20) });
  controller.abort();
  // At once, so that none is refused before anybody looks.
  await Promise.all([
    expect(aborted).rejects.toMatchObject({ code: 'cancelled' }),
    expect(late).rejects.toMatchObject({ code: 'deadline-exceeded' }),
    expect(timedOut).rejects.toMatchObject({ code: 'deadline-exceeded' }),
  ]);
  await expect(engine.infer('slow', slowly(1), { signal })).rejects.toMatchObject({ code: 'cancelled' });
  await expect(engine.infer('slow', slowly(1), { timeoutMs: 0 })).rejects.toMatchObject({ code: 'deadline-exceeded' });
  expect((await first).outputs.steps_done?.data).toEqual(BigInt64Array.of(150n));
  expect((await second).outputs.steps_done?.data).toEqual(BigInt64Array.of(1n));
});

test.each(lanes)('close finishes what is in progress on the %s lane, and then refuses by name', async (lane) => {
  const engine = await engineOf(repositoryOf('slow', 'add_sub').path, { worker: { lane } });
  const running = Array.from({ length: 4 }, () => engine.infer('slow', slowly(15)));
  const closed = engine.close();
  expect(engine.close()).toBe(closed);
  await expect(engine.infer('slow', slowly(1))).rejects.toMatchObject({ code: 'draining' });
  const results = await Promise.all(running);
  expect(results.map(({ outputs }) => outputs.steps_done?.data)).toEqual(running.map(() => BigInt64Array.of(15n)));
  await closed;
  await expect(engine.infer('slow', slowly(1))).rejects.toMatchObject({ code: 'draining' });
  expect((await inject(engine.handler, { target: '/v2/health/ready' })).status).not.toBe(200);
});

test('versions are addressed by number, and without one the highest answers', async () => {
  const models = repositoryOf()
    .write('calculator/1/model.onnx', binaryModel('Add'))
    .write('calculator/2/model.onnx', binaryModel('Mul'))
    .write('calculator/config.pbtxt', 'max_batch_size: 8 version_policy { all { } }');
  const engine = await engineOf(models.path, { worker: { lane: 'inline' } });
  const inputs = { left: { shape: [1, 2], data: [3, 5] }, right: { shape: [1, 2], data: [4, 6] } };
  const outcome = async (version?: string) => {
    const result = await engine.infer('calculator', inputs, version === undefined ? {} : { version });
    return [result.version, [...(result.outputs.output?.data ?? [])]];
  };
  expect(await outcome('1')).toEqual(['1', [7, 11]]);
  expect(await outcome('2')).toEqual(['2', [12, 30]]);
  expect(await outcome()).toEqual(['2', [12, 30]]);
  expect(engine.model('calculator').version).toBe('2');
  expect(engine.model('calculator', '1').inputs.map(({ name }) => name)).toEqual(['left', 'right']);
  await expect(engine.infer('calculator', inputs, { version: '3' })).rejects.toMatchObject({ code: 'unknown-model' });
});

test.each(lanes)(
  'a model that cannot be served is reported on the %s lane, and the others are served',
  async (lane) => {
    // The graph can be read, but names an operator that no engine has.
    const broken = Buffer.from(binaryModel('Add'));
    broken.write('Axx', broken.indexOf('Add'));
    const models = repositoryOf('add_sub').write('broken/1/model.onnx', broken).write('torn/1/model.onnx', 'text');
    const strict = { models: models.path, worker: { lane }, allowFailures: false };
    const refused = await createEngine(strict).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    const sources = (refused as ConfigError).problems.map(({ source }) => source).join(' ');
    expect(sources).toContain('broken/1');
    expect(sources).toContain('torn');

    const warnings: string[] = [];
    const listen = ({ name, message }: Error): void => void (name === 'MillraceWarning' && warnings.push(message));
    process.on('warning', listen);
    const engine = await engineOf(models.path, { worker: { lane } });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(warnings).toEqual([
      expect.stringMatching(/^a model cannot be served: .*torn/),
      expect.stringMatching(/^a model cannot be served: broken\/1: .*Axx/),
    ]);
    expect(engine.statuses().map(({ name, state }) => `${name} ${state}`)).toEqual([
      'add_sub ready',
      'broken failed',
      'torn failed',
    ]);
    const [failed, torn, ...none] = engine.failures();
    expect([failed?.name, torn?.name, none]).toEqual(['broken', 'torn', []]);
    expect(failed?.reason).toContain('No Op registered for Axx');
    await expect(engine.infer('broken', {})).rejects.toMatchObject({
      code: 'model-not-ready',
      message: expect.stringMatching(/^Request for model 'broken' cannot be served now: .*No Op registered for Axx/),
    });
    const row: InputValue = { shape: [1, 16], data: new Int32Array(16).fill(2) };
    const { outputs } = await engine.infer('add_sub', { INPUT0: row, INPUT1: row });
    expect(outputs.OUTPUT0?.data).toEqual(new Int32Array(16).fill(4));
  },
);

test('management is an object, and a part of the handler only where that was asked for', async () => {
  const { path } = repositoryOf('add_sub');
  const plain = await engineOf(path, { worker: { lane: 'inline' } });
  expect(plain.management.contexts()).toMatchObject([{ name: 'add_sub', state: 'ready', instances: 1 }]);
  expect(plain.management.instances()).toMatchObject([{ model: 'add_sub', device: 'cpu', breaker: 'closed' }]);
  expect(plain.management.queues()).toMatchObject({ waitingRequests: 0, models: [{ model: 'add_sub' }] });
  const statusOf = async (engine: EmbeddedEngine) =>
    (await inject(engine.handler, { target: '/v1/management/contexts' })).status;
  expect(await statusOf(plain)).toBe(404);
  const managed = await engineOf(path, { worker: { lane: 'inline' }, serveManagement: true });
  expect(await statusOf(managed)).toBe(200);
});

test('models of which none can be served reject the engine, unless failures are allowed', async () => {
  const worker = { lane: 'inline' } as const;
  const torn = repositoryOf().write('torn/1/model.onnx', 'text').path;
  await expect(createEngine({ models: torn, worker })).rejects.toThrow(/torn\/1\/model\.onnx/);
  expect((await engineOf(torn, { worker, allowFailures: true })).failures()).toHaveLength(1);
  const empty = repositoryOf().path;
  await expect(createEngine({ models: empty, worker })).rejects.toThrow(
    `${empty}: has no models; put one at NAME/1/model.onnx, or give control: { controlMode: 'poll' } to wait for one`,
  );
  expect((await engineOf(empty, { worker, control: { controlMode: 'poll' } })).statuses()).toEqual([]);
});

test('a folder that is not there and a setting that is wrong reject the engine as configuration problems', async () => {
  const missing = await createEngine({ models: '/nowhere/at/all' }).catch((error: unknown) => error);
  expect(missing).toBeInstanceOf(ConfigError);
  expect((missing as Error).message).toMatch(/\/nowhere\/at\/all.* does not exist/);
  const options = { models: '.', queue: { modelRequestsMax: 0 } };
  await expect(createEngine(options)).rejects.toThrow('queue.modelRequestsMax');
});

test.each(lanes)('a program with an engine on the %s lane ends by itself after close', async (lane) => {
  const models = repositoryOf('add_sub').path;
  const program = `
    import { createEngine } from 'millrace';
    const engine = await createEngine({ models: ${JSON.stringify(models)}, worker: { lane: '${lane}' } });
    const row = { shape: [1, 16], data: new Int32Array(16).fill(2) };
    await engine.infer('add_sub', { INPUT0: row, INPUT1: row }, { timeoutMs: 60000 });
    await engine.close();
    console.log('closed');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  expect(said).toBe('closed\n');
  expect(code).toBe(0);
});

describe('an ensemble', () => {
  const twice = `
    platform: "ensemble" max_batch_size: 8
    input [ { name: "a" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "b" data_type: TYPE_INT32 dims: [ 16 ] } ]
    output [ { name: "twice_a" data_type: TYPE_INT32 dims: [ 16 ] }, { name: "twice_b" data_type: TYPE_INT32 dims: [ 16 ] } ]
    ensemble_scheduling {
      step {
        model_name: "add_sub"
        input_map [ { key: "INPUT0" value: "sum" }, { key: "INPUT1" value: "difference" } ]
        output_map [ { key: "OUTPUT0" value: "twice_a" }, { key: "OUTPUT1" value: "twice_b" } ]
      }
      step {
        model_name: "add_sub"
        input_map [ { key: "INPUT0" value: "a" }, { key: "INPUT1" value: "b" } ]
        output_map [ { key: "OUTPUT0" value: "sum" }, { key: "OUTPUT1" value: "difference" } ]
      }
    }`;
  const row = (first: number) => Int32Array.from({ length: 16 }, (_, index) => first + index);
  const inputs = { a: { shape: [1, 16], data: row(1) }, b: { shape: [1, 16], data: row(100) } };

  test.each(lanes)('runs step after step on the %s lane, many at once, and ends with the engine', async (lane) => {
    const repository = repositoryOf('add_sub');
    repository.write('twice/config.pbtxt', twice);
    const engine = await engineOf(repository.path, { worker: { lane } });
    expect(engine.model('twice')).toMatchObject({ platform: 'ensemble', version: '1' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => engine.infer('twice', inputs)));
    for (const { outputs } of answers) {
      expect(outputs.twice_a?.data).toEqual(row(1).map((value) => 2 * value));
      expect(outputs.twice_b?.data).toEqual(row(100).map((value) => 2 * value));
    }
    const last = engine.infer('twice', inputs, { outputs: ['twice_b'] });
    await engine.close();
    expect(Object.keys((await last).outputs)).toEqual(['twice_b']);
  });

  test.each(lanes)('whose name comes before those of its steps is served on the %s lane', async (lane) => {
    const repository = repositoryOf('add_sub');
    repository.write('a_first/config.pbtxt', twice);
    const engine = await engineOf(repository.path, { worker: { lane } });
    const { outputs } = await engine.infer('a_first', inputs);
    expect(outputs.twice_a?.data).toEqual(row(1).map((value) => 2 * value));
  });

  test('whose step is missing is reported with the reason', async () => {
    const repository = repositoryOf('add_sub');
    repository.write('twice/config.pbtxt', twice.replace('"add_sub"', '"sub_add"'));
    const engine = await engineOf(repository.path, { worker: { lane: 'inline' }, allowFailures: true });
    expect(engine.failures()).toMatchObject([
      { name: 'twice', reason: expect.stringMatching(/its step "sub_add" is not ready/) },
    ]);
  });
});
