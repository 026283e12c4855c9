import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { binaryModel, ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine, type EngineOptions } from 'millrace';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

const inputs = { left: { shape: [1, 2], data: [3, 3] }, right: { shape: [1, 2], data: [4, 4] } };
/** What each version answers. */
const operations = { Add: 7, Mul: 12, Sub: -1 } as const;

/** Can be read, and has an operator that no engine has. */
const unloadable = Buffer.from(Buffer.from(binaryModel('Add')).toString('latin1').replace('Add', 'Odd'), 'latin1');

/** `y = x * weight`, with the weight in a file beside the model. */
function scalingModel(file: string): Uint8Array {
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', 1] });
  return onnxModelFrom({
    inputs: [value('x')],
    outputs: [value('y')],
    nodes: [{ operator: 'Mul', inputs: ['x', 'weight'], outputs: ['y'] }],
    constants: [{ name: 'weight', datatype: 'FP32', shape: [1], file, fileBytes: 4 }],
  });
}

let models: ModelRepository;
let engine: EmbeddedEngine | undefined;

beforeEach(() => {
  models = new ModelRepository().write('m/1/model.onnx', binaryModel('Add'));
});
afterEach(async () => {
  await engine?.close();
  engine = undefined;
  models.remove();
});

async function start(
  control: EngineOptions['control'] = {},
  worker: EngineOptions['worker'] = {},
): Promise<EmbeddedEngine> {
  engine = await createEngine({
    models: models.path,
    control: { controlMode: 'poll', pollSeconds: 0.2, settleSeconds: 0.1, ...control },
    worker: { lane: 'inline', ...worker },
    allowFailures: true,
  });
  return engine;
}

/** Version and value. */
async function answer(at: EmbeddedEngine, version?: string): Promise<string> {
  const result = await at.infer('m', inputs, version === undefined ? {} : { version });
  return `${result.version}: ${String((result.outputs.output?.data as Float32Array | undefined)?.[0])}`;
}

/** As a careful operator puts a file there: under another name first. */
function put(path: string, bytes: Uint8Array): void {
  models.write(`.staged`, bytes);
  models.write(`${path}.part`, '');
  renameSync(join(models.path, '.staged'), join(models.path, path));
  rmSync(join(models.path, `${path}.part`));
}

function states(at: EmbeddedEngine): readonly string[] {
  return at.statuses().map(({ name, version, state }) => `${name}:${version} ${state}`);
}

test('a version that is added takes over, and the previous one is unloaded', async () => {
  const at = await start();
  expect(await answer(at)).toBe('1: 7');
  put('m/2/model.onnx', binaryModel('Mul'));
  await eventually('version 2 answers', async () => (await answer(at)) === '2: 12');
  await eventually('version 1 is gone', () => states(at).join() === 'm:2 ready');
  await expect(answer(at, '1')).rejects.toMatchObject({ code: 'unknown-model' });
});

test('the previous version serves again when the newer one is removed', async () => {
  put('m/2/model.onnx', binaryModel('Mul'));
  const at = await start();
  expect(await answer(at)).toBe('2: 12');
  rmSync(join(models.path, 'm/2'), { recursive: true });
  await eventually('version 1 answers', async () => (await answer(at)) === '1: 7');
});

test('changed files of a version are loaded beside the old ones and replace them', async () => {
  const at = await start();
  put('m/1/model.onnx', binaryModel('Sub'));
  await eventually('the new files answer', async () => (await answer(at)) === '1: -1');
  expect(states(at)).toEqual(['m:1 ready']);
});

test('a new version that cannot be loaded is reported, and the old one keeps serving', async () => {
  const at = await start();
  put('m/2/model.onnx', Buffer.from('torn'));
  await eventually('the failure is known', () => states(at).includes('m:2 failed'));
  expect(await answer(at)).toBe('1: 7');
  const failed = at.statuses().find(({ version }) => version === '2');
  expect(failed).toMatchObject({ isTolerated: true, reason: expect.stringContaining('m/2/model.onnx') });
  put('m/2/model.onnx', binaryModel('Mul'));
  await eventually('the mended version answers', async () => (await answer(at)) === '2: 12');
});

test.each([
  ['a later version replaces it', 'm/3/model.onnx', 'm:3 ready'],
  ['the model is taken away', undefined, ''],
])('an old version that waited for one that never loaded is unloaded when %s', async (_, path, expected) => {
  const at = await start();
  put('m/2/model.onnx', unloadable);
  await eventually('version 2 has failed', () => states(at).includes('m:2 failed'));
  expect(await answer(at)).toBe('1: 7');
  if (path === undefined) rmSync(join(models.path, 'm'), { recursive: true });
  else put(path, binaryModel('Mul'));
  await eventually('the others are gone', () => states(at).join() === expected);
});

test('loose files are added, changed and removed by their names', async () => {
  const at = await start();
  const loose = async () => (await at.infer('loose', inputs)).outputs.output?.data[0];
  put('loose.onnx', binaryModel('Mul'));
  await eventually('the file is served', () => states(at).includes('loose:1 ready'));
  expect(await loose()).toBe(12);
  put('loose.onnx', binaryModel('Sub'));
  await eventually('the changed file answers', async () => (await loose()) === -1);
  rmSync(join(models.path, 'loose.onnx'));
  await eventually('the model is gone', () => states(at).join() === 'm:1 ready');
});

test('changed weights beside a loose file have it loaded again', async () => {
  const at = await start({}, { lane: 'local' });
  put('loose.onnx', scalingModel('loose.onnx.data'));
  const scaled = async () => (await at.infer('loose', { x: { shape: [1, 1], data: [3] } })).outputs.y?.data[0];
  put('loose.onnx.data', Buffer.from(Float32Array.of(2).buffer));
  await eventually('it is served', () => states(at).includes('loose:1 ready'));
  expect(await scaled()).toBe(6);
  put('loose.onnx.data', Buffer.from(Float32Array.of(5).buffer));
  await eventually('the new weights answer', async () => (await scaled()) === 15);
});

test('a file notification reports a change long before the next poll', async () => {
  const at = await start({ pollSeconds: 3600 });
  put('m/2/model.onnx', binaryModel('Mul'));
  await eventually('version 2 answers', async () => (await answer(at)) === '2: 12');
});

test('another number of instances is carried out without loading those that stay', async () => {
  models.write('m/config.pbtxt', 'instance_group { count: 1 }');
  const at = await start({}, { lane: 'local' });
  const [before] = at.library.contexts();
  models.write('m/config.pbtxt', 'instance_group { count: 3 }');
  await eventually('there are three', () => at.library.contexts()[0]?.instances === 3);
  expect(at.model('m').config).toMatchObject({ instance_group: [{ count: 3 }] });
  models.write('m/config.pbtxt', 'instance_group { count: 1 }');
  await eventually('there is one', () => at.library.contexts()[0]?.instances === 1);
  expect(await answer(at)).toBe('1: 7');
  expect(before?.instances).toBe(1);
});

test('a removed model is no longer served, and an added one is', async () => {
  const at = await start();
  models.write('n/1/model.onnx', binaryModel('Mul'));
  await eventually('the new model is ready', () => states(at).includes('n:1 ready'));
  rmSync(join(models.path, 'm'), { recursive: true });
  await eventually('the old model is gone', () => states(at).join() === 'n:1 ready');
});

test('versions that change under load fail no request, and each answer is of a version that was current', async () => {
  models.write('m/config.pbtxt', 'max_batch_size: 8');
  const at = await start({}, { lane: 'local' });
  const swaps = 4;
  const kinds = Object.keys(operations) as (keyof typeof operations)[];
  let newest = 1;
  /** Versions below were already gone when something was sent. */
  let oldest = 1;
  const traffic: { isOver: boolean } = { isOver: false };
  let answered = 0;
  const caller = async (): Promise<void> => {
    while (!traffic.isOver) {
      const oldestAtSend = oldest;
      const result = await at.infer('m', inputs);
      const version = Number(result.version);
      const value = (result.outputs.output?.data as Float32Array | undefined)?.[0];
      if (version < oldestAtSend || version > newest) throw new Error(`an answer of version ${version}`);
      expect(value).toBe(operations[kinds[(version - 1) % kinds.length] as keyof typeof operations]);
      answered += 1;
    }
  };
  const callers = Array.from({ length: 64 }, caller);
  for (let swap = 0; swap < swaps; swap++) {
    newest += 1;
    put(`m/${newest}/model.onnx`, binaryModel(kinds[(newest - 1) % kinds.length] as 'Add'));
    await eventually(`version ${newest} alone is served`, () => states(at).join() === `m:${newest} ready`);
    oldest = newest;
  }
  traffic.isOver = true;
  await Promise.all(callers);
  expect(answered).toBeGreaterThan(64);
});

test('every change that cannot be read is logged, and the server stays ready', { timeout: 60_000 }, async () => {
  const server = await ServerProcess.start([
    models.path,
    '--model-control-mode',
    'poll',
    '--repository-poll-secs',
    '0.2',
    '--repository-settle-secs',
    '0.1',
    '--exit-on-model-error',
  ]);
  const told = (what: string, model: string, message: string) =>
    eventually(what, () =>
      server.records.some((record) => record.model === model && record.level === 'error' && record.message === message),
    );
  const servedOn = 'model failed; versions served before keep serving';
  try {
    models.write('m/1/model.onnx', 'torn');
    await told('a torn file', 'm', 'changed version cannot be read; the previous revision keeps serving');
    models.write('m/config.pbtxt', 'nonsense {');
    await told('a bad configuration', 'm', servedOn);
    models.write('half/1/model.onnx', binaryModel('Mul').subarray(0, 20));
    await told('a model that is half copied', 'half', servedOn);
    expect((await fetch(`${server.url}/v2/health/ready`)).status).toBe(200);
    expect((await fetch(`${server.url}/v2/models/m/ready`)).status).toBe(200);
  } finally {
    expect(await server.stop()).toBe(0);
  }
});
