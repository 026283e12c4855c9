import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { neverCancelled } from '@millrace/protocol';
import type { InferRequest, LoadOverrides } from '@millrace/router';
import type { ModelLibrary } from '@millrace/router/internal';
import { silentLibraryListener, silentObserver } from '@millrace/router/internal';
import { inferRequest } from '@millrace/router/testing';
import { openMemoryStore } from '@millrace/store';
import { binaryModel, ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { type Options, resolveConfig } from 'millrace';
import { type Assembly, assemble } from 'millrace/internal';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';

type MemoryStore = Awaited<ReturnType<typeof openMemoryStore>>;

let models: ModelRepository;
let store: MemoryStore;
const running: Assembly[] = [];

// Tests check what is left in the folder for temporary files, so no other process may use it.
const temporary = mkdtempSync(join(tmpdir(), 'millrace-explicit-'));
beforeAll(() => void vi.stubEnv('TMPDIR', temporary));
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(temporary, { recursive: true });
});

beforeEach(async () => {
  models = new ModelRepository()
    .write('m/1/model.onnx', binaryModel('Add'))
    .write('n/1/model.onnx', binaryModel('Mul'));
  store = await openMemoryStore();
});
afterEach(async () => {
  for (const assembly of running.splice(0)) await stop(assembly);
  models.remove();
});

async function start(
  options: Options['models'] = {},
  stateFolder?: string,
  lane: 'inline' | 'local' = 'inline',
): Promise<Assembly> {
  const config = resolveConfig({
    options: { models: { controlMode: 'explicit', ...options }, worker: { lane } },
    cwd: models.path,
  });
  const assembly = await assemble({
    paths: [models.path],
    config,
    observer: silentObserver,
    listener: silentLibraryListener,
    store,
    ...(stateFolder === undefined ? {} : { stateFolder }),
    onSharedMemoryUnavailable: () => {},
  });
  running.push(assembly);
  assembly.library.start();
  await assembly.library.settled();
  return assembly;
}

async function stop({ library, fleet }: Assembly): Promise<void> {
  library.close();
  await fleet.stop();
  await library.removeFiles();
}

/** Can be read, and has an operator that no engine has. */
const unloadable = Buffer.from(Buffer.from(binaryModel('Add')).toString('latin1').replace('Add', 'Odd'), 'latin1');

async function answer({ dataPlane }: Assembly, model: string, version = ''): Promise<string> {
  const tensor = (name: string, value: number) => {
    const data = new Uint8Array(Float32Array.of(value, value).buffer);
    return { name, datatype: 'FP32' as const, shape: [1, 2], data };
  };
  const request: InferRequest = inferRequest({
    model,
    version,
    inputs: [tensor('left', 3), tensor('right', 4)],
  });
  try {
    const { version: answered, outputs, release } = await dataPlane.inference.infer(request, neverCancelled);
    const bytes = outputs[0]?.data ?? new Uint8Array(4);
    const value = new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true);
    release();
    return `${answered}: ${value}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

async function indexOf(library: ModelLibrary): Promise<readonly string[]> {
  return (await library.index()).map(({ name, version, state, reason }) =>
    [name, version, state, reason].filter((part) => part !== undefined).join(' '),
  );
}

async function failureOf(promise: Promise<void>): Promise<string> {
  return promise.then(
    () => 'no failure',
    (error: Error & { code: string }) => `${error.code}: ${error.message}`,
  );
}

test('a loose file is loaded and unloaded by its name', async () => {
  models.write('loose.onnx', binaryModel('Sub'));
  const at = await start();
  await at.library.load('loose');
  expect(await answer(at, 'loose')).toBe('1: -1');
  await at.library.unload('loose');
  expect(await answer(at, 'loose')).toBe('model-not-ready');
});

test('nothing is loaded before a load request, and the index lists the repository', async () => {
  const at = await start();
  expect(await indexOf(at.library)).toEqual(['m', 'n']);
  expect(await answer(at, 'm')).toBe('unknown-model');
  await at.library.load('m');
  expect(await answer(at, 'm')).toBe('1: 7');
  expect(await indexOf(at.library)).toEqual(['m 1 READY', 'n']);
  await at.library.unload('m');
  expect(await answer(at, 'm')).not.toContain(':');
  await eventually('it is gone', async () => (await indexOf(at.library)).includes('m 1 UNAVAILABLE unloaded'));
});

test('models named at the start are loaded, a star loads all, and a name without a model is a problem', async () => {
  const named = await start({ load: ['n', 'nobody'] });
  expect(await indexOf(named.library)).toEqual([
    'm',
    'n 1 READY',
    expect.stringMatching(/^nobody UNAVAILABLE .*there is no model "nobody"/),
  ]);
  const all = await start({ load: ['*'] });
  expect(await indexOf(all.library)).toEqual(['m 1 READY', 'n 1 READY']);
});

test('a load reads changed files, and after a failed one the old revision keeps serving', async () => {
  const at = await start({ load: ['m'] });
  models.write('m/1/model.onnx', binaryModel('Sub'));
  expect(await answer(at, 'm')).toBe('1: 7');
  await at.library.load('m');
  expect(await answer(at, 'm')).toBe('1: -1');
  models.write('m/1/model.onnx', 'torn');
  expect(await failureOf(at.library.load('m'))).toMatch(/^invalid-request: failed to load 'm', .*m\/1\/model.onnx/);
  expect(await answer(at, 'm')).toBe('1: -1');
});

test.each([
  ['cannot be read', Buffer.from('torn'), /m\/1\/model\.onnx/],
  ['cannot be loaded', unloadable, /Odd/],
])('the index tells of a ready version that its replacement %s, until one can', async (_, bytes, reason) => {
  const at = await start({ load: ['m'] });
  models.write('m/1/model.onnx', bytes);
  expect(await failureOf(at.library.load('m'))).not.toBe('no failure');
  const [entry] = await at.library.index();
  expect(entry).toMatchObject({ name: 'm', version: '1', state: 'READY' });
  expect(entry?.reason).toMatch(/^it continues to serve unchanged; its replacement cannot be served: /);
  expect(entry?.reason).toMatch(reason);
  expect(at.library.contexts()[0]).toMatchObject({ state: 'ready', reason: entry?.reason });
  expect(await answer(at, 'm')).toBe('1: 7');
  models.write('m/1/model.onnx', binaryModel('Mul'));
  await at.library.load('m');
  expect(await answer(at, 'm')).toBe('1: 12');
  expect((await indexOf(at.library))[0]).toBe('m 1 READY');
});

test('a configuration in the load request is used instead of the file', async () => {
  models.write('m/2/model.onnx', binaryModel('Mul'));
  const at = await start({ load: ['m'] });
  expect(await answer(at, 'm')).toBe('2: 12');
  await at.library.load('m', { config: '{"version_policy":{"specific":{"versions":[1]}},"max_batch_size":2}' });
  expect(await answer(at, 'm')).toBe('1: 7');
  expect(at.models.mustFind('m', '').rowsMax).toBe(2);
  expect(await failureOf(at.library.load('m', { config: '{"max_batch_sice":2}' }))).toContain('max_batch_sice');
  expect(await answer(at, 'm')).toBe('1: 7');
});

test('Triton: a load without a configuration keeps the one that came before, until the files change', async () => {
  models.write('m/2/model.onnx', binaryModel('Mul'));
  const at = await start({ load: ['m'] });
  await at.library.load('m', { config: '{"version_policy":{"specific":{"versions":[1]}},"max_batch_size":2}' });
  await at.library.load('m');
  expect(await answer(at, 'm')).toBe('1: 7');
  expect(at.models.mustFind('m', '').rowsMax).toBe(2);
  await at.library.load('m', { config: '{"max_batch_size":3}' });
  await at.library.load('m');
  expect([await answer(at, 'm'), at.models.mustFind('m', '').rowsMax]).toEqual(['2: 12', 3]);
  models.write('m/config.pbtxt', 'max_batch_size: 5');
  await at.library.load('m');
  expect(at.models.mustFind('m', '').rowsMax).toBe(5);
});

test('Triton: an unload ends the configuration that came with a load', async () => {
  models.write('m/config.pbtxt', 'max_batch_size: 5');
  const at = await start();
  await at.library.load('m', { config: '{"max_batch_size":2}' });
  await at.library.unload('m');
  await at.library.load('m');
  expect(at.models.mustFind('m', '').rowsMax).toBe(5);
});

test('Triton: a load without parameters returns from files that came with a load to the repository', async () => {
  const at = await start();
  await at.library.load('m', { config: '{}', files: new Map([['7/model.onnx', binaryModel('Sub')]]) });
  expect(await answer(at, 'm')).toBe('7: -1');
  await at.library.load('m');
  expect(await answer(at, 'm')).toBe('1: 7');
});

test('a kept configuration is there after a restart, and still ends when the files change', async () => {
  const first = await start();
  await first.library.load('m', { config: '{"max_batch_size":3}' });
  await first.library.load('m');
  await stop(first);
  const second = await start();
  await second.library.load('m');
  expect(second.models.mustFind('m', '').rowsMax).toBe(3);
  await stop(second);
  models.write('m/config.pbtxt', 'max_batch_size: 5');
  const third = await start();
  expect(third.models.mustFind('m', '').rowsMax).toBe(3);
  await third.library.load('m');
  expect(third.models.mustFind('m', '').rowsMax).toBe(5);
});

test('uploaded files are used instead of the repository, need a configuration, and are removed with the model', async () => {
  const at = await start();
  const before = temporaryFolders();
  const files: LoadOverrides['files'] = new Map([['7/model.onnx', binaryModel('Sub')]]);
  expect(await failureOf(at.library.load('new', { files }))).toMatch(
    /^invalid-request: failed to load 'new', .*"config"/,
  );
  expect(
    await failureOf(at.library.load('new', { config: '{}', files: new Map([['../x', new Uint8Array()]]) })),
  ).toMatch(/^invalid-request: "\.\.\/x" is not a file of a version/);
  await at.library.load('new', { config: '{}', files });
  await at.library.load('m', { config: '{}', files });
  expect([await answer(at, 'new'), await answer(at, 'm')]).toEqual(['7: -1', '7: -1']);
  expect(temporaryFolders().length).toBe(before.length + 1);
  await at.library.unload('new');
  await at.library.load('m');
  expect(await answer(at, 'm')).toBe('1: 7');
  await stop(at);
  expect(temporaryFolders()).toEqual(before);
});

test('loads and pins are there after a restart, with the files that came with them', async () => {
  const stateFolder = join(models.path, '.state');
  const first = await start({ load: ['n'] }, stateFolder);
  await first.library.load('m', { config: '{"max_batch_size":3}' });
  await first.library.load('sent', { config: '{}', files: new Map([['1/model.onnx', binaryModel('Sub')]]) });
  await first.library.setPinned('m', '1', true);
  await stop(first);
  const second = await start({}, stateFolder);
  expect(await indexOf(second.library)).toEqual(['m 1 READY', 'n', 'sent 1 READY']);
  expect(second.models.mustFind('m', '').rowsMax).toBe(3);
  expect(await answer(second, 'sent')).toBe('1: -1');
  expect(second.library.contexts().map(({ name, isPinned }) => `${name} ${isPinned}`)).toEqual([
    'm true',
    'sent false',
  ]);
  await second.library.unload('sent');
  await eventually('its files are gone', () => readdirSync(stateFolder).length === 0);
  await stop(second);
  expect(await indexOf((await start({}, stateFolder)).library)).toEqual(['m 1 READY', 'n']);
});

test('files that came with a load are found where the store was moved to', async () => {
  const [before, after] = [join(models.path, '.before'), join(models.path, '.after')];
  const first = await start({}, before);
  await first.library.load('sent', { config: '{}', files: new Map([['1/model.onnx', binaryModel('Sub')]]) });
  await stop(first);
  renameSync(before, after);
  expect(await answer(await start({}, after), 'sent')).toBe('1: -1');
});

test('a load that cannot be read is forgotten when it is unloaded, also one that a restart found gone', async () => {
  models.write('torn/1/model.onnx', 'torn');
  const first = await start();
  await first.library.load('m');
  expect(await failureOf(first.library.load('torn'))).toMatch(/^invalid-request/);
  expect(await indexOf(first.library)).toContainEqual(expect.stringMatching(/^torn 1 UNAVAILABLE .*cannot be read/));
  await first.library.unload('torn');
  expect(await indexOf(first.library)).toEqual(['m 1 READY', 'n', 'torn']);
  await stop(first);
  rmSync(join(models.path, 'm'), { recursive: true });
  const second = await start();
  expect(await indexOf(second.library)).toContainEqual(expect.stringMatching(/^m UNAVAILABLE .*there is no model/));
  await second.library.unload('m');
  expect(await indexOf(second.library)).toEqual(['n', 'torn']);
  await stop(second);
  expect(await indexOf((await start()).library)).toEqual(['n', 'torn']);
});

test.each([
  ['under a budget a request waits for', 2 ** 40, '1: 7'],
  ['without one a request is refused during', 0, 'model-not-ready'],
])('%s the first load of its model', async (_, memoryBudget, expected) => {
  const at = await start({ memoryBudget });
  const early = new Promise<string>((resolve) => {
    const stopListening = at.models.onChange(() => {
      stopListening();
      expect(at.models.statuses()).toMatchObject([{ name: 'm', state: 'loading' }]);
      queueMicrotask(() => resolve(answer(at, 'm')));
    });
  });
  await at.library.load('m');
  expect(await early).toBe(expected);
});

test('files that are not kept are not expected after a restart', async () => {
  const first = await start();
  await first.library.load('m', { config: '{}', files: new Map([['1/model.onnx', binaryModel('Sub')]]) });
  await stop(first);
  expect(await indexOf((await start()).library)).toEqual(['m', 'n']);
});

test.each(['none', 'poll'] as const)(
  'in the mode %s loads and unloads are refused as Triton refuses them',
  async (controlMode) => {
    const at = await start({ controlMode });
    const refusal =
      'load-not-allowed: explicit model load / unload is not allowed if polling is enabled; start the server with --model-control-mode explicit';
    expect(await failureOf(at.library.load('m'))).toBe(refusal);
    expect(await failureOf(at.library.unload('m'))).toBe(refusal);
    expect(await answer(at, 'm')).toBe('1: 7');
  },
);

test('invalid names and models that do not exist are refused', async () => {
  const at = await start();
  for (const name of ['', '..', 'a/b', ' ']) {
    expect(await failureOf(at.library.load(name))).toMatch(/^invalid-request: failed to load/);
  }
  expect(await failureOf(at.library.load('nobody'))).toMatch(/^invalid-request: .*there is no model "nobody"/);
  expect(await indexOf(at.library)).toEqual(['m', 'n']);
  expect(await failureOf(at.library.unload('nobody'))).toMatch(/^unknown-model/);
  expect(await failureOf(at.library.setPinned('m', '1', true))).toMatch(/^unknown-model/);
});

test('a load that cannot be stored is refused: a configuration that is too large, or a closed store', async () => {
  const at = await start({ load: ['m'] });
  const large = `{"parameters":{"x":{"string_value":"${'x'.repeat(200_000)}"}}}`;
  expect(await failureOf(at.library.load('m', { config: large }))).toMatch(/^request-too-large: failed to load 'm'/);
  await store.close();
  expect(await failureOf(at.library.load('n'))).toMatch(/^internal: the change could not be saved/);
  expect(await failureOf(at.library.setPinned('m', '1', true))).toMatch(/^internal: the change could not be saved/);
  expect(await answer(at, 'm')).toBe('1: 7');
});

test('twenty loads of one model at once leave one of them serving', async () => {
  const at = await start();
  await Promise.all(Array.from({ length: 20 }, () => at.library.load('m')));
  expect(await answer(at, 'm')).toBe('1: 7');
});

test('models that share workers change together, and stay as they were when one of them cannot', async () => {
  const shared = 'parameters { key: "millrace.worker_group" value { string_value: "small" } }';
  models.write('m/config.pbtxt', shared).write('n/config.pbtxt', shared);
  const at = await start({ load: ['*'] }, undefined, 'local');
  const served = () => at.models.statuses().map(({ name, state }) => `${name} ${state}`);
  expect([await answer(at, 'm'), await answer(at, 'n')]).toEqual(['1: 7', '1: 12']);
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', 2] });
  const unknownOperator = onnxModelFrom({
    inputs: [value('left'), value('right')],
    outputs: [value('output')],
    nodes: [{ operator: 'NoSuchOperator', inputs: ['left', 'right'], outputs: ['output'] }],
  });
  // It can be read, but no engine can load it.
  models.write('m/1/model.onnx', unknownOperator);
  expect(await failureOf(at.library.load('m'))).toMatch(
    /^model-not-ready: load failed for model 'm': .*NoSuchOperator/s,
  );
  expect([await answer(at, 'm'), await answer(at, 'n'), ...served()]).toEqual(['1: 7', '1: 12', 'm ready', 'n ready']);
  models.write('m/1/model.onnx', binaryModel('Sub'));
  await at.library.load('m');
  expect([await answer(at, 'm'), await answer(at, 'n'), ...served()]).toEqual(['1: -1', '1: 12', 'm ready', 'n ready']);
  await at.library.unload('m');
  await eventually('the other serves alone', () => served().join() === 'n ready');
  expect(await answer(at, 'n')).toBe('1: 12');
});

function temporaryFolders(): readonly string[] {
  const own = models.path.split('/').at(-1);
  return readdirSync(tmpdir()).filter(
    (name) => name.startsWith('millrace-models-') && name !== own && existsSync(join(tmpdir(), name)),
  );
}
