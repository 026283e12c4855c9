import { describe, expect, test } from 'vitest';
import { readTestModel, serveTestModel } from '../testing/test-model.ts';

const float = 1;
const int32 = 6;
const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`;

/** Free sizes in and out, and an input for lengths. */
const padded = {
  inputs: { x: [float, ['batch', 'length', 3]] as const, lengths: [int32, ['batch', 2]] as const },
  outputs: { y: [float, ['batch', 'length']] as const },
};
const paddedEntries = `max_batch_size: 8
  input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }`;
const lengths = 'batch_input { kind: BATCH_ITEM_SHAPE target_name: "lengths" data_type: TYPE_INT32 source_input: "x" }';

const ragged = {
  inputs: { x: [float, ['all']] as const, ends: [float, ['requests']] as const },
  outputs: { y: [float, ['all']] as const },
};
const raggedEntries = `max_batch_size: 8
  input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
  output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }`;
const ends =
  'batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "ends" data_type: TYPE_FP32 source_input: "x" }';
const scatter = 'batch_output { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }';

describe('padding', () => {
  test('is read with its value, its ratio and the sizes to cut back', async () => {
    const config = `${paddedEntries} ${lengths} ${parameter('millrace.pad.x', '-1.5')}
      ${parameter('millrace.pad_ratio_max', '4')} ${parameter('millrace.unpad.y', '1=x:1')}`;
    const { view } = await serveTestModel({ ...padded, config });
    expect(view.inputs.map(({ name }) => name)).toEqual(['x']);
    expect(view.shaping).toMatchObject({
      inputs: [{ kind: 'padded', fill: new Uint8Array(Float32Array.of(-1.5).buffer) }],
      outputs: [{ kind: 'cut', cuts: [{ axis: 1, input: 0, inputAxis: 1 }] }],
      generated: [{ kind: 'BATCH_ITEM_SHAPE', datatype: 'INT32', source: 0 }],
      padRatioMax: 4,
      engine: { isBatched: true, inputs: [{ name: 'x' }, { name: 'lengths', shape: [-1, 2] }] },
    });
  });

  test.each([
    [parameter('millrace.pad.z', '0'), 'parameters["millrace.pad.z"]', 'no input "z"'],
    [parameter('millrace.pad.x', 'zero'), 'parameters["millrace.pad.x"]', 'not a value of FP32'],
    [parameter('millrace.pad_ratio_max', '2'), 'parameters["millrace.pad_ratio_max"]', 'no meaning without'],
    [
      `${parameter('millrace.pad.x', '0')} ${parameter('millrace.pad_ratio_max', '1')}`,
      'parameters["millrace.pad_ratio_max"]',
      'from 1.01',
    ],
    [parameter('millrace.unpad.y', '1=x:1'), 'parameters["millrace.unpad.y"]', '"x" is not padded'],
    [
      `${parameter('millrace.pad.x', '0')} ${parameter('millrace.unpad.y', 'x')}`,
      'parameters["millrace.unpad.y"]',
      'write AXIS=INPUT:AXIS',
    ],
    [
      `${parameter('millrace.pad.x', '0')} ${parameter('millrace.unpad.y', '0=x:1')}`,
      'parameters["millrace.unpad.y"]',
      'axis 0 of the output',
    ],
    [
      `${parameter('millrace.pad.x', '0')} ${parameter('millrace.unpad.y', '1=x:2')}`,
      'parameters["millrace.unpad.y"]',
      'axis 2 of "x" has no free size',
    ],
  ])('%s is a problem, named by its parameter', async (config, field, message) => {
    const { failures } = await readTestModel({ ...padded, config: `${paddedEntries} ${lengths} ${config}` });
    expect(failures.flatMap(({ problems }) => problems)).toContainEqual(
      expect.objectContaining({ field, message: expect.stringContaining(message) }),
    );
  });
});

describe('ragged batches', () => {
  test('are read with their batch inputs and outputs; clients see the shapes of the configuration', async () => {
    const { view } = await serveTestModel({ ...ragged, config: `${raggedEntries} ${ends} ${scatter}` });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, -1] }]);
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [-1, -1] }]);
    expect(view.shaping).toMatchObject({
      inputs: [{ kind: 'ragged' }],
      outputs: [{ kind: 'scattered', input: 0 }],
      engine: {
        isBatched: false,
        inputs: [
          { name: 'x', shape: [-1] },
          { name: 'ends', shape: [-1] },
        ],
        outputs: [{ name: 'y', shape: [-1] }],
      },
    });
  });

  test.each([
    ['batch_input { kind: BATCH_ELEMENT_COUNT }', 'batch_input[0].target_name', 'exactly one name'],
    [ends.replace('"ends"', '"end"'), 'batch_input[0].target_name', 'the graph has no input "end"'],
    [ends.replace('"x"', '"z"'), 'batch_input[0].source_input', 'no input "z"'],
    [ends.replace('TYPE_FP32', 'TYPE_INT8'), 'batch_input[0].data_type', 'must be TYPE_INT32'],
    [ends.replace('TYPE_FP32', 'TYPE_INT32'), 'batch_input[0].data_type', 'is not the graph'],
    [
      ends.replace('BATCH_ACCUMULATED_ELEMENT_COUNT', 'BATCH_ITEM_SHAPE'),
      'batch_input[0].target_name',
      'the graph has [ -1 ], but BATCH_ITEM_SHAPE makes a list of the shape [ -1, 1 ]',
    ],
    [`${ends} ${scatter.replace('"y"', '"z"')}`, 'batch_output[0].target_name', 'no output "z"'],
    [
      `${ends} model_warmup { name: "w" inputs { key: "x" value { data_type: TYPE_FP32 dims: 2 zero_data: true } } }`,
      'model_warmup',
      'cannot be ragged',
    ],
    [`${ends} ${parameter('millrace.pad.x', '0')}`, 'input[0].allow_ragged_batch', 'remove one'],
  ])('%s is a problem, named by its field', async (config, field, message) => {
    const { failures } = await readTestModel({ ...ragged, config: `${raggedEntries} ${config}` });
    expect(failures.flatMap(({ problems }) => problems)).toContainEqual(
      expect.objectContaining({ field, message: expect.stringContaining(message) }),
    );
  });

  test('a graph that has no list of all elements cannot be ragged', async () => {
    const inputs = { ...ragged.inputs, x: [float, ['batch', 'length']] as const };
    const { failures } = await readTestModel({ ...ragged, inputs, config: `${raggedEntries} ${ends} ${scatter}` });
    expect(failures.flatMap(({ problems }) => problems)).toContainEqual(
      expect.objectContaining({ field: 'input[0].allow_ragged_batch', message: expect.stringContaining('[ -1, -1 ]') }),
    );
  });
});
