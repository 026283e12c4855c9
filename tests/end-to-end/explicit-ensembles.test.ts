import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start([models.path, '--no-share-workers', '--model-control-mode', 'explicit']);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});
beforeEach(() => {
  models
    .write('add/1/model.onnx', binaryModel('Add'))
    .write('multiply/1/model.onnx', binaryModel('Mul'))
    .write('both/config.pbtxt', ensemble(step('add', 'left', 'sum'), step('multiply', 'sum', 'result')));
});
afterEach(async () => {
  for (const model of await index()) await post(model.name, 'unload');
  await eventually('nothing is loaded', async () => (await index()).every(({ state = '' }) => !isUp.has(state)));
});

const isUp = new Set(['READY', 'LOADING', 'UNLOADING']);

function step(model: string, left: string, output: string): string {
  return `step { model_name: "${model}" model_version: -1 input_map { key: "left" value: "${left}" }
    input_map { key: "right" value: "right" } output_map { key: "output" value: "${output}" } }`;
}

/** With inputs `left` and `right` and the output `result`, of `columns` numbers in a row. */
function ensemble(...steps: readonly string[]): string {
  return ensembleOf('TYPE_FP32', 2, ...steps);
}

function ensembleOf(datatype: string, columns: number, ...steps: readonly string[]): string {
  return `platform: "ensemble" max_batch_size: 8
    input { name: "left" data_type: ${datatype} dims: ${columns} }
    input { name: "right" data_type: TYPE_FP32 dims: 2 }
    output { name: "result" data_type: TYPE_FP32 dims: 2 }
    ensemble_scheduling { ${steps.join(' ')} }`;
}

async function post(model: string, action: 'load' | 'unload', parameters = {}): Promise<readonly [number, string]> {
  const url = `${server.url}/v2/repository/models/${model}/${action}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ parameters }) });
  const text = await response.text();
  return [response.status, text === '' ? '' : (JSON.parse(text) as { error: string }).error];
}

async function index(): Promise<readonly { readonly name: string; readonly state?: string }[]> {
  const response = await fetch(`${server.url}/v2/repository/index`, { method: 'POST' });
  return (await response.json()) as { name: string; state?: string }[];
}

/** The names of what is ready, in order. */
async function ready(): Promise<readonly string[]> {
  return (await index()).filter(({ state }) => state === 'READY').map(({ name }) => name);
}

async function answer(model: string): Promise<unknown> {
  const tensor = (name: string, values: readonly number[]) =>
    ({ name, datatype: 'FP32', shape: [1, 2], values }) as const;
  const { status, outputs } = await inferOverRest(server.url, model, [tensor('left', [3, 5]), tensor('right', [4, 6])]);
  return status === 200 ? outputs[0]?.values : status;
}

const loaded = [200, ''];

test('Triton: loading an ensemble in explicit mode loads its steps', async () => {
  expect(await post('both', 'load')).toEqual(loaded);
  expect(await ready()).toEqual(['add', 'both', 'multiply']);
  expect(await answer('both')).toEqual([28, 66]);
});

test('Triton: unloading an unknown model succeeds', async () => {
  const before = await index();
  expect(await post('nobody', 'unload')).toEqual(loaded);
  expect(await index()).toEqual(before);
});

test('Triton: loading an ensemble of ensembles loads the steps of its steps', async () => {
  models.write('outer/config.pbtxt', ensemble(step('inner', 'left', 'result')));
  models.write('inner/config.pbtxt', ensemble(step('add', 'left', 'result')).replaceAll('result', 'output'));
  expect(await post('outer', 'load')).toEqual(loaded);
  expect(await ready()).toEqual(['add', 'inner', 'outer']);
  expect(await answer('outer')).toEqual([7, 11]);
});

test('Triton: steps that are loaded already stay as they are, and changed ones are loaded anew', async () => {
  const starts = () =>
    server.records.filter(({ message, group }) => message === 'worker started' && group === 'add:1').length;
  const before = starts();
  await post('add', 'load', { config: '{"max_batch_size":16}' });
  await post('multiply', 'load');
  models.write('multiply/1/model.onnx', binaryModel('Sub'));
  expect(await post('both', 'load')).toEqual(loaded);
  expect(await answer('both')).toEqual([3, 5]);
  const config = await (await fetch(`${server.url}/v2/models/add/config`)).json();
  expect(config).toMatchObject({ max_batch_size: 16 });
  expect(starts()).toBe(before + 1);
});

test('Triton: an ensemble with a step that cannot be loaded fails to load, and says why', async () => {
  models.write('torn/1/model.onnx', 'torn');
  models.write('bad/config.pbtxt', ensemble(step('add', 'left', 'sum'), step('torn', 'sum', 'result')));
  const [status, message] = await post('bad', 'load');
  expect(status).toBe(400);
  expect(message).toMatch(/failed to load 'bad', bad: its step "torn" cannot be loaded: .*torn\/1\/model\.onnx/);
  expect(await ready()).toEqual(['add']);
  models.write('bad/config.pbtxt', ensemble(step('nobody', 'left', 'result')));
  expect((await post('bad', 'load'))[1]).toContain('its step "nobody" cannot be loaded');
});

test('Triton: an ensemble that contains itself fails to load', async () => {
  models.write('e/config.pbtxt', ensemble(step('f', 'left', 'result')));
  models.write('f/config.pbtxt', ensemble(step('e', 'left', 'result')));
  const [status, message] = await post('e', 'load');
  expect(status).toBe(400);
  expect(message).toContain('it contains itself (e, which contains f, which contains e)');
});

test.each([
  [
    'shape',
    ensembleOf('TYPE_FP32', 3, step('add', 'left', 'result')),
    'input "left" of the ensemble has the shape [-1, 3], but this input of "add" has [-1, 2]',
  ],
  [
    'datatype',
    ensembleOf('TYPE_INT8', 2, step('add', 'left', 'result')),
    'input "left" of the ensemble is INT8, but this input of "add" is FP32',
  ],
])('Triton: an ensemble whose %s does not fit its steps fails to load', async (_, config, problem) => {
  models.write('bad/config.pbtxt', config);
  const [status, message] = await post('bad', 'load');
  expect(status).toBe(400);
  expect(message).toContain(`ensemble_scheduling.step[0].input_map["left"]: ${problem}`);
  expect(await ready()).toEqual(['add']);
  expect(await answer('bad')).toBe(503);
});

test('a change of an ensemble that does not fit leaves the ensemble as it was', async () => {
  await post('both', 'load');
  models.write('both/config.pbtxt', ensembleOf('TYPE_FP32', 3, step('add', 'left', 'result')));
  expect((await post('both', 'load'))[0]).toBe(400);
  expect(await answer('both')).toEqual([28, 66]);
});

test('Triton: unload_dependents unloads the steps that were loaded along with the ensemble', async () => {
  await post('both', 'load');
  expect(await post('both', 'unload', { unload_dependents: true })).toEqual(loaded);
  await eventually('all are gone', async () => (await ready()).length === 0);
});

test('Triton: unload_dependents keeps steps that were loaded by name or that another ensemble needs', async () => {
  models.write('other/config.pbtxt', ensemble(step('add', 'left', 'result')));
  await post('multiply', 'load');
  await post('both', 'load');
  await post('other', 'load');
  await post('both', 'unload', { unload_dependents: true });
  await eventually('the ensemble is gone', async () => !(await ready()).includes('both'));
  expect(await ready()).toEqual(['add', 'multiply', 'other']);
  await post('other', 'unload', { unload_dependents: true });
  await eventually('its step is gone', async () => (await ready()).join() === 'multiply');
});

test('an ensemble alone is unloaded without its steps', async () => {
  await post('both', 'load');
  await post('both', 'unload');
  await eventually('the ensemble is gone', async () => !(await ready()).includes('both'));
  expect(await ready()).toEqual(['add', 'multiply']);
});

test('Triton: an ensemble that is named at the start is loaded with its steps', async () => {
  await server.stop();
  server = await ServerProcess.start([models.path, '--model-control-mode', 'explicit', '--load-model', 'both']);
  expect(await answer('both')).toEqual([28, 66]);
  await post('both', 'unload', { unload_dependents: true });
  await eventually('all are gone', async () => (await ready()).length === 0);
});

test('two ensembles that name each other and are loaded at the same time do not wait for each other', async () => {
  models.write('e/config.pbtxt', ensemble(step('add', 'left', 'result')));
  models.write('f/config.pbtxt', ensemble(step('add', 'left', 'result')));
  const config = (name: string) =>
    JSON.stringify({
      platform: 'ensemble',
      max_batch_size: 8,
      input: ['left', 'right'].map((one) => ({ name: one, data_type: 'TYPE_FP32', dims: [2] })),
      output: [{ name: 'result', data_type: 'TYPE_FP32', dims: [2] }],
      ensemble_scheduling: {
        step: [
          {
            model_name: name,
            model_version: -1,
            input_map: { left: 'left', right: 'right' },
            output_map: { result: 'result' },
          },
        ],
      },
    });
  const outcomes = await Promise.all([
    post('e', 'load', { config: config('f') }),
    post('f', 'load', { config: config('e') }),
  ]);
  // Whichever came second found the other one changed, or both did.
  expect(outcomes.every(([status]) => [200, 400, 503].includes(status))).toBe(true);
  expect(await answer('add')).toEqual([7, 11]);
});
