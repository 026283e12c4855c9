/** `reshape` of a config.pbtxt, with free sizes: what Triton serves, through a real server and its worker process. */
import { ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;

/** `y = x + x` of so many dimensions, the last ones free. */
function doubling(shape: readonly (number | string)[]): Uint8Array {
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape });
  return onnxModelFrom({
    inputs: [value('x')],
    outputs: [value('y')],
    nodes: [{ operator: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
  });
}

beforeAll(async () => {
  models.write('whole/1/model.onnx', doubling([1, 'length'])).write(
    'whole/config.pbtxt',
    `max_batch_size: 0
     input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] reshape { shape: [ 1, -1 ] } }
     output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] reshape { shape: [ 1, -1 ] } }`,
  );
  models.write('rows/1/model.onnx', doubling(['batch', 1, 'length', 2])).write(
    'rows/config.pbtxt',
    `max_batch_size: 4
     input { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: [ 1, -1, 2 ] } }
     output { name: "y" data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ 1, -1, 2 ] } }`,
  );
  models.write('fixed/1/model.onnx', doubling(['batch', 4])).write(
    'fixed/config.pbtxt',
    `max_batch_size: 4
     input { name: "x" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } }
     output { name: "y" data_type: TYPE_FP32 dims: [ 1, 4 ] reshape { shape: [ 4 ] } }`,
  );
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

test.each([
  ['whole', [3], [3]],
  ['whole', [1], [1]],
  ['whole', [0], [0]],
  ['rows', [2, 3, 2], [2, 2, 3]],
  ['rows', [1, 1, 2], [1, 2, 1]],
  ['fixed', [3, 2, 2], [3, 1, 4]],
])('Triton serves a reshape with a free size: %s takes %j and gives %j', async (model, shape, shapeGiven) => {
  const values = Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, index) => index + 1);
  const answer = await inferOverRest(server.url, model, [{ name: 'x', datatype: 'FP32', shape, values }]);
  expect(answer.outputs).toMatchObject([{ name: 'y', shape: shapeGiven, values: values.map((value) => 2 * value) }]);
});
