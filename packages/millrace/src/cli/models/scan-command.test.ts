import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadModels } from '../../load-models.ts';
import { runArguments } from '../../testing/run-arguments.ts';

const addSub = fileURLToPath(new URL('../../../../../tests/models/add_sub', import.meta.url));
let folder = '';

function add(repository: string, name: string, config: string): void {
  mkdirSync(path.join(folder, repository, name, '1'), { recursive: true });
  copyFileSync(path.join(addSub, '1/model.onnx'), path.join(folder, repository, name, '1/model.onnx'));
  writeFileSync(path.join(folder, repository, name, 'config.pbtxt'), config);
}

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'millrace-models-'));
  add('good', 'sum', 'max_batch_size: 8\n');
  add('mixed', 'fine', '');
  add('mixed', 'odd', 'max_batch_size: 8\nmax_batch_sze: 8\n');
  mkdirSync(path.join(folder, 'empty'));
});

afterAll(() => rmSync(folder, { recursive: true }));

const models = (...args: string[]) => runArguments({ args: ['models', ...args], cwd: folder, loadModels });

test('models that would be served are a table', async () => {
  const { code, stdout } = await models('good');
  const [head, row] = stdout.split('\n');
  expect(head).toMatch(/^MODEL +VERSION +ROWS +RUNS +INPUTS +OUTPUTS$/);
  expect(row).toMatch(/^sum +1 +≤ 8 +1 worker +\S+ (FP32|INT32)\[\?,16\].*/);
  expect(code).toBe(0);
});

test('models that would not be served are reported with file, line and reason, and the exit code is 1', async () => {
  const { code, stdout } = await models('mixed');
  expect(stdout).toContain('fine');
  expect(stdout).toMatch(/✗ odd would not be served\n {2}.*config\.pbtxt:2: .*max_batch_sze/);
  expect(code).toBe(1);
});

test('--json prints the same as JSON', async () => {
  const { code, stdout } = await models('mixed', 'good', '--json');
  const scan = JSON.parse(stdout) as { models: { name: string }[]; failures: { name: string; problems: unknown[] }[] };
  expect(scan.models.map((model) => model.name)).toEqual(['fine', 'sum']);
  expect(scan.failures.map((failure) => failure.name)).toEqual(['odd']);
  expect(scan.failures[0]?.problems).toMatchObject([{ line: 2 }]);
  expect(scan.models[1]).toMatchObject({
    lane: 'local',
    versions: [{ version: '1', isBatched: true, batchRowsMax: 8 }],
  });
  expect(code).toBe(1);
});

test('--explain shows whether requests share runs, why, and what to change', async () => {
  add('explained', 'sum', 'max_batch_size: 8\n');
  add('explained', 'guess', '');
  add('explained', 'alone', 'max_batch_size: 0\n');
  add('explained', 'never', 'max_batch_size: 8 parameters { key: "millrace.batch" value { string_value: "never" } }\n');
  mkdirSync(path.join(folder, 'explained/both'), { recursive: true });
  const map = (key: string, value: string, side: string) => `${side}_map { key: "${key}" value: "${value}" }`;
  const maps =
    ['INPUT0', 'INPUT1'].map((name) => map(name, name, 'input')).join(' ') + map('OUTPUT0', 'OUTPUT', 'output');
  const tensor = (name: string) => `name: "${name}" data_type: TYPE_FP32 dims: [ 16 ]`;
  writeFileSync(
    path.join(folder, 'explained/both/config.pbtxt'),
    `platform: "ensemble" max_batch_size: 8
     input { ${tensor('INPUT0')} } input { ${tensor('INPUT1')} } output { ${tensor('OUTPUT')} }
     ensemble_scheduling { step { model_name: "sum" model_version: -1 ${maps} } }`,
  );
  const { code, stdout } = await models('explained', '--explain');
  expect(stdout).toMatch(/\nMODEL +VERSION +MAX_BATCH_SIZE +SHARES RUNS +VERDICT +NODE\n/);
  expect(stdout).toMatch(/\nsum +1 +8 +yes +independent +-\n/);
  expect(stdout).toMatch(/\nguess +1 +64 \(guessed\) +yes +independent +-\n/);
  expect(stdout).toMatch(/\nalone +1 +0 +no +independent +-\n/);
  expect(stdout).toMatch(/\nnever +1 +8 +no +independent +-\n/);
  expect(stdout).toMatch(/\nboth +1 +8 +by step +- +-\n/);
  expect(stdout).toContain('  Why:    ensemble: shares where its steps do: sum yes\n');
  expect(stdout).toContain('never:1\n  Why:    millrace.batch is never\n  Change: remove millrace.batch\n');
  expect(code).toBe(0);
});

test('scan is the same by its full name, and reads a folder that is named like a command', async () => {
  expect(await models('scan', 'good')).toEqual(await models('good'));
  add('list', 'sum', 'max_batch_size: 8\n');
  expect((await models('./list')).stdout).toMatch(/\nsum +1 /);
});

test('a single file is a model too', async () => {
  const { code, stdout } = await models('good/sum/1/model.onnx');
  expect(stdout).toMatch(/\nmodel +1 /);
  expect(code).toBe(0);
});

test('a folder without models says how they are laid out', async () => {
  const { code, stdout, stderr } = await models('empty');
  expect(stdout + stderr).toMatch(/1\/model\.onnx/);
  expect(code).toBe(1);
});

test.each([
  [[], 'millrace models: needs a path or a command: millrace models ./models, or millrace models list\n'],
  [['lst'], /Did you mean millrace models list\?\n$/],
  [['nope', 'good'], /^millrace models: \S*nope does not exist\n$/],
])('%j is refused with 2', async (args, expected) => {
  const { code, stderr } = await models(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(expected);
});

test('a model with an operator that the engine does not know is found out by a load, and the table says so', async () => {
  add('loadable', 'fine', '');
  add('loadable', 'unknown', '');
  const graph = path.join(folder, 'loadable/unknown/1/model.onnx');
  // Another operator of the same length.
  writeFileSync(graph, Buffer.from(readFileSync(graph).toString('latin1').replace('Add', 'Axx'), 'latin1'));
  const read = await models('loadable');
  expect(read.stdout).toMatch(/^unknown +1/m);
  expect(read.stdout).toContain('Models were read, not loaded: --load also finds out');
  expect(read.code).toBe(0);

  const loaded = await models('loadable', '--load');
  expect(loaded.stdout).toMatch(/^fine +1/m);
  expect(loaded.stdout).not.toMatch(/^unknown +1/m);
  expect(loaded.stdout).toMatch(/✗ unknown:1 would not be served\n.*model\.onnx: .*Axx/);
  expect(loaded.stdout).not.toContain('not loaded');
  expect(loaded.code).toBe(1);

  const { stdout } = await models('loadable', '--load', '--json');
  const scan = JSON.parse(stdout) as { models: { name: string }[]; failures: { name: string }[] };
  expect([scan.models.map(({ name }) => name), scan.failures.map(({ name }) => name)]).toEqual([['fine'], ['unknown']]);
});
