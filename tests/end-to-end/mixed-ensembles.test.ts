import { identityModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

interface Ensemble {
  readonly rowsMax: number;
  /** Of both its input and its output, as the configuration writes them. */
  readonly dims: string;
  readonly steps: readonly string[];
}

function ensembleConfig({ rowsMax, dims, steps }: Ensemble): string {
  const step = (model: string, index: number) => `step { model_name: "${model}" model_version: -1
    input_map { key: "input0" value: "${index === 0 ? 'x' : `t${index}`}" }
    output_map { key: "output0" value: "${index === steps.length - 1 ? 'y' : `t${index + 1}`}" } }`;
  return `platform: "ensemble" max_batch_size: ${rowsMax}
    input { name: "x" data_type: TYPE_FP32 ${dims} } output { name: "y" data_type: TYPE_FP32 ${dims} }
    ensemble_scheduling { ${steps.map(step).join(' ')} }`;
}

function modelConfig(rowsMax: number, dims: string): string {
  return `max_batch_size: ${rowsMax} input { name: "input0" data_type: TYPE_FP32 dims: [ ${dims} ] }
    output { name: "output0" data_type: TYPE_FP32 dims: [ ${dims} ] }`;
}

const identity = (...shape: readonly (number | string)[]) => identityModel([{ datatype: 'FP32', shape }]);
const ensembles: Readonly<Record<string, Ensemble>> = {
  whole_batch: { rowsMax: 8, dims: 'dims: 2', steps: ['rows', 'matrix', 'rows'] },
  batch_of_one: { rowsMax: 8, dims: 'dims: 2', steps: ['rows', 'vector', 'rows'] },
  row: { rowsMax: 0, dims: 'dims: 2', steps: ['rows', 'vector'] },
  matrix_alone: { rowsMax: 0, dims: 'dims: [ -1, 2 ]', steps: ['rows', 'matrix'] },
  reshaped: { rowsMax: 8, dims: 'dims: [ 1, 2 ] reshape { shape: [ 2 ] }', steps: ['rows'] },
  reshaped_free: { rowsMax: 0, dims: 'dims: [ -1 ] reshape { shape: [ -1, 1 ] }', steps: ['column'] },
};
const models = new ModelRepository()
  .write('rows/1/model.onnx', identity('batch', 2))
  .write('rows/config.pbtxt', modelConfig(8, '2'))
  .write('vector/1/model.onnx', identity(2))
  .write('vector/config.pbtxt', modelConfig(0, '2'))
  .write('matrix/1/model.onnx', identity('length', 2))
  .write('matrix/config.pbtxt', modelConfig(0, '-1, 2'))
  .write('column/1/model.onnx', identity('length', 1))
  .write('column/config.pbtxt', modelConfig(0, '-1, 1'));
for (const [name, ensemble] of Object.entries(ensembles))
  models.write(`${name}/config.pbtxt`, ensembleConfig(ensemble));
models.write('misfit/config.pbtxt', ensembleConfig({ rowsMax: 8, dims: 'dims: 3', steps: ['matrix'] }));
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start([models.path, '--no-strict-readiness']);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function answer(model: string, shape: readonly number[], form: 'json' | 'binary' = 'json') {
  const values = Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, index) => index + 1);
  const reply = await inferOverRest(server.url, model, [{ name: 'x', datatype: 'FP32', shape: [...shape], values }], {
    form,
  });
  if (reply.status !== 200) return [reply.status, reply.error];
  expect(reply.outputs[0]?.values).toEqual(values);
  return reply.outputs[0]?.shape;
}

test('Triton: a whole batch goes through a model that does not batch and whose shape has room for it', async () => {
  expect(await answer('whole_batch', [3, 2])).toEqual([3, 2]);
  expect(await answer('whole_batch', [1, 2], 'binary')).toEqual([1, 2]);
});

test('Triton: a batch of one is dropped before a model that does not batch, and added again after it', async () => {
  expect(await answer('batch_of_one', [1, 2])).toEqual([1, 2]);
});

test('Triton: a larger batch is refused by a step that does not batch and has no room for it', async () => {
  expect(await answer('batch_of_one', [2, 2])).toEqual([
    400,
    expect.stringMatching(/step 1 \('vector'\) of ensemble 'batch_of_one': .*Expected \[2\], got \[2,2\]/),
  ]);
});

test('Triton: an ensemble that does not batch adds a batch of one before a step that does, and drops it after', async () => {
  expect(await answer('row', [2])).toEqual([2]);
});

test('Triton: a tensor that has the rows of a batching step already is passed on as it is', async () => {
  expect(await answer('matrix_alone', [3, 2])).toEqual([3, 2]);
});

test('Triton: reshape in the configuration of an ensemble changes the shape between caller and steps', async () => {
  expect(await answer('reshaped', [3, 1, 2])).toEqual([3, 1, 2]);
  expect(await answer('reshaped_free', [5])).toEqual([5]);
  const metadata = await (await fetch(`${server.url}/v2/models/reshaped`)).json();
  expect(metadata).toMatchObject({ inputs: [{ shape: [-1, 1, 2] }], outputs: [{ shape: [-1, 1, 2] }] });
});

test('Triton: shapes that differ beyond the batch keep an ensemble from being served', async () => {
  const [status, error] = (await answer('misfit', [1, 3])) as [number, string];
  expect(status).toBe(503);
  expect(error).toContain('input "x" of the ensemble has the shape [-1, 3], but this input of "matrix" has [-1, 2]');
});
