/** Models without any configuration, as loose files of one folder: each answers as ONNX Runtime does, over every protocol. */
import { ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine } from 'millrace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import type { NamedValues } from '../support/golden.ts';
import { grpcInfer } from '../support/grpc-call.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { listedThreshold, plainModels, refusedModels } from '../support/plain-models.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;
let client: InferClient;

beforeAll(async () => {
  for (const [name, model] of Object.entries(plainModels)) models.write(`${name}.onnx`, model);
  for (const isOptional of [true, false]) {
    const { model, config } = listedThreshold(isOptional);
    const name = isOptional ? 'optional_threshold' : 'required_threshold';
    models.write(`${name}/1/model.onnx`, model).write(`${name}/config.pbtxt`, config);
  }
  const named = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', 'seq'] });
  models.write(
    'named_sizes.onnx',
    onnxModelFrom({
      inputs: [named('ids'), named('mask')],
      outputs: [named('y')],
      nodes: [{ operator: 'Add', inputs: ['ids', 'mask'], outputs: ['y'] }],
    }),
  );
  // Its configuration cannot say [N]: one value a row is a list of one to it.
  models.write(
    'ensemble/config.pbtxt',
    `platform: "ensemble" max_batch_size: 8
     input { name: "in" data_type: TYPE_FP32 dims: [ 1 ] }
     output { name: "out" data_type: TYPE_FP32 dims: [ 1 ] }
     ensemble_scheduling {
       step { model_name: "one_value_a_row" model_version: -1
              input_map { key: "x" value: "in" } output_map { key: "y" value: "twice" } }
       step { model_name: "one_value_a_row" model_version: -1
              input_map { key: "x" value: "twice" } output_map { key: "y" value: "out" } }
     }`,
  );
  server = await ServerProcess.start([models.path]);
  client = openInferClient(server);
});

afterAll(async () => {
  client.close();
  expect(await server.stop()).toBe(0);
  models.remove();
});

type Values = NamedValues['values'];
const fp32 = (name: string, shape: readonly number[], ...values: Values): NamedValues => ({
  name,
  datatype: 'FP32',
  shape,
  values,
});
const int64 = (name: string, shape: readonly number[], ...values: readonly number[]): NamedValues => ({
  name,
  datatype: 'INT64',
  shape,
  values: values.map(BigInt),
});
const texts = (name: string, shape: readonly number[], ...values: Values): NamedValues => ({
  name,
  datatype: 'BYTES',
  shape,
  values,
});

const protocols = {
  'REST JSON': async (model: string, inputs: readonly NamedValues[]) => {
    const { outputs, error } = await inferOverRest(server.url, model, inputs, { form: 'json' });
    return error === '' ? outputs : error;
  },
  'REST binary': async (model: string, inputs: readonly NamedValues[]) => {
    const { outputs, error } = await inferOverRest(server.url, model, inputs, { form: 'binary' });
    return error === '' ? outputs : error;
  },
  gRPC: (model: string, inputs: readonly NamedValues[]) => grpcInfer(client, model, inputs),
};

const boxes = [0, 0, 1, 1, 0, 0, 1, 0.9, 5, 5, 6, 6];

type Case = readonly [title: string, model: string, inputs: readonly NamedValues[], outputs: readonly NamedValues[]];
const cases: readonly Case[] = [
  ['one value a row', 'one_value_a_row', [fp32('x', [3], 1, 2, 3)], [fp32('y', [3], 2, 4, 6)]],
  ['one value a row as Triton shows it', 'one_value_a_row', [fp32('x', [3, 1], 1, 2, 3)], [fp32('y', [3], 2, 4, 6)]],
  ['one value a row in an ensemble', 'ensemble', [fp32('in', [2, 1], 1, 2)], [fp32('out', [2, 1], 4, 8)]],
  ['a single value', 'single_value', [fp32('x', [], 4)], [fp32('y', [], 8)]],
  ['a single value as Triton shows it', 'single_value', [fp32('x', [1], 4)], [fp32('y', [], 8)]],
  ['no rows', 'free_sizes', [fp32('x', [0, 4])], [fp32('y', [0, 4])]],
  ['rows without elements', 'free_sizes', [fp32('x', [2, 0])], [fp32('y', [2, 0])]],
  ['no rows of one value', 'one_value_a_row', [fp32('x', [0])], [fp32('y', [0])]],
  ['no texts', 'texts', [texts('x', [0])], [texts('y', [0])]],
  ['texts', 'texts', [texts('x', [2], 'grüße', '')], [texts('y', [2], 'grüße', '')]],
  ['an output that is stated wrongly', 'stated_wrongly', [fp32('x', [3], 1, 2, 3)], [fp32('y', [3], 2, 4, 6)]],
  ['a matrix where no rank is stated', 'any_rank', [fp32('x', [1, 2], 5, 6)], [fp32('y', [1, 2], 5, 6)]],
  ['a single value where no rank is stated', 'any_rank', [fp32('x', [], 5)], [fp32('y', [], 5)]],
  ['a default', 'threshold', [fp32('x', [1, 2], 11, 12)], [fp32('y', [1, 2], 1, 2)]],
  [
    'another value than the default',
    'threshold',
    [fp32('x', [2, 2], 1, 2, 3, 4), fp32('threshold', [], 1)],
    [fp32('y', [2, 2], 0, 1, 2, 3)],
  ],
  [
    'a default that a configuration lists',
    'optional_threshold',
    [fp32('x', [1, 2], 11, 12)],
    [fp32('y', [1, 2], 1, 2)],
  ],
  [
    'another value where a configuration lists it',
    'optional_threshold',
    [fp32('threshold', [1], 1), fp32('x', [1, 2], 1, 2)],
    [fp32('y', [1, 2], 0, 1)],
  ],
  [
    'another value where a configuration requires it',
    'required_threshold',
    [fp32('x', [1, 2], 1, 2), fp32('threshold', [1], 2)],
    [fp32('y', [1, 2], -1, 0)],
  ],
  ['no inputs', 'no_inputs', [], [fp32('y', [2], 2, 4)]],
  [
    'a constant output',
    'constant_output',
    [fp32('x', [1, 2], 1, 2)],
    [fp32('y', [1, 2], 2, 4), fp32('classes', [3], 7, 8, 9)],
  ],
  [
    'positions that only the data tells',
    'nonzero',
    [fp32('flags', [4], 0, 1, 0, 2)],
    [int64('positions', [1, 2], 1, 3)],
  ],
  ['no such position', 'nonzero', [fp32('flags', [2], 0, 0)], [int64('positions', [1, 0])]],
  ['an index beside a list', 'gather', [fp32('items', [3], 5, 6, 7), int64('index', [1], 2)], [fp32('item', [1], 7)]],
  ['rows put into one list', 'flatten', [fp32('x', [2, 2], 1, 2, 3, 4)], [fp32('y', [4], 1, 2, 3, 4)]],
  ['the greatest of all rows', 'pooled', [fp32('x', [2, 2], 1, 4, 3, 2)], [fp32('y', [1, 2], 3, 4)]],
  [
    'unequal first sizes',
    'unequal',
    [fp32('a', [1, 2], 1, 2), fp32('b', [2, 2], 3, 4, 5, 6)],
    [fp32('y', [3, 2], 1, 2, 3, 4, 5, 6)],
  ],
  [
    'boxes that do not overlap',
    'nms',
    [fp32('boxes', [1, 3, 4], ...boxes), fp32('scores', [1, 1, 3], 0.5, 0.75, 0.25)],
    [int64('selected', [2, 3], 0, 0, 1, 0, 0, 2)],
  ],
  [
    'the scores of a ZipMap',
    'zip_map',
    [fp32('x', [2, 3], 1, 2, 3, 6, 5, 4)],
    [fp32('y', [2, 3], 1, 2, 3, 6, 5, 4), fp32('probabilities', [2, 3], 1, 2, 3, 6, 5, 4)],
  ],
];

describe.each(Object.entries(protocols))('over %s', (_, call) => {
  test.each(cases)('%s', async (_title, model, inputs, outputs) => {
    expect(await call(model, inputs)).toEqual(outputs);
  });

  test('every model answers sixteen callers at once as it answers one', async () => {
    const rounds = Array.from({ length: 16 }, () => cases).flat();
    const answers = await Promise.all(rounds.map(([, model, inputs]) => call(model, inputs)));
    expect(answers).toEqual(rounds.map(([, , , outputs]) => outputs));
  });

  test('shapes and inputs that no graph takes are refused by name', async () => {
    expect(await call('one_value_a_row', [fp32('x', [1, 3], 1, 2, 3)])).toMatch(/unexpected shape for input 'x'/);
    expect(await call('optional_threshold', [fp32('x', [0, 2])])).toMatch(/batch-size must be >= 1/);
    expect(await call('required_threshold', [fp32('x', [1, 2], 1, 2)])).toMatch(
      /missing required input\(s\) \['threshold'\]/,
    );
    expect(await call('texts', [texts('x', [1], 'a\0b')])).toMatch(/element 0 of input 'x'.*contains a zero byte/);
  });
});

test.each([
  [
    'an axis that the graph names',
    [1, 2],
    [1, 3],
    /axis 1 of input 'mask' .* is 3, but axis 1 of 'ids' is 2, and .* 'seq'/,
  ],
  ['rows', [2, 2], [3, 2], /axis 0 of input 'mask' .* is 3, but axis 0 of 'ids' is 2, and both have the rows/],
])('unequal sizes of %s on which a run fails are the mistake of the caller', async (_, ids, mask, message) => {
  const zeros = ([rows = 0, size = 0]: readonly number[]) => Array.from({ length: rows * size }, () => 0);
  const inputs = [fp32('ids', ids, ...zeros(ids)), fp32('mask', mask, ...zeros(mask))];
  const refused = await inferOverRest(server.url, 'named_sizes', inputs, { form: 'json' });
  expect(refused).toMatchObject({ status: 400, code: 'invalid-request', error: expect.stringMatching(message) });
  // One that is repeated along the other is none.
  const repeated = await inferOverRest(server.url, 'named_sizes', [fp32('ids', [1, 2], 1, 2), fp32('mask', [1, 1], 3)]);
  expect(repeated.outputs).toMatchObject([{ shape: [1, 2], values: [4, 5] }]);
});

test('metadata shows the shapes of the graph, and inputs with a default among the inputs', async () => {
  const metadata = async (model: string) => {
    const { inputs, outputs } = (await (await fetch(`${server.url}/v2/models/${model}`)).json()) as {
      inputs: { name: string; shape: number[] }[];
      outputs: { name: string; shape: number[] }[];
    };
    return [...inputs, ...outputs].map(({ name, shape }) => `${name} [${shape}]`);
  };
  expect(await metadata('one_value_a_row')).toEqual(['x [-1]', 'y [-1]']);
  expect(await metadata('single_value')).toEqual(['x []', 'y []']);
  expect(await metadata('any_rank')).toEqual(['x [-1]', 'y [-1]']);
  expect(await metadata('threshold')).toEqual(['x [-1,2]', 'threshold []', 'y [-1,2]']);
  expect(await metadata('zip_map')).toEqual(['x [-1,3]', 'y [-1,3]', 'probabilities [-1,3]']);
});

test('the keys of a ZipMap are the labels of its classes', async () => {
  const body = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 3], data: [1, 2, 3, 6, 5, 4] }],
    outputs: [{ name: 'probabilities', parameters: { classification: 1 } }],
  });
  const response = await fetch(`${server.url}/v2/models/zip_map/infer`, { method: 'POST', body });
  expect(await response.json()).toMatchObject({
    outputs: [{ datatype: 'BYTES', shape: [2, 1], data: ['3.000000:2:eel', '6.000000:0:cat'] }],
  });
});

test('half floats travel as binary data, and JSON refuses them by name', async () => {
  const half: NamedValues = { name: 'x', datatype: 'FP16', shape: [2], values: [1.5, -2] };
  const expected = [{ ...half, name: 'y', values: [3, -4] }];
  expect(await protocols['REST binary']('half_floats', [half])).toEqual(expected);
  expect(await protocols.gRPC('half_floats', [half])).toEqual(expected);
  expect(await protocols['REST JSON']('half_floats', [half])).toMatch(/receiving FP16 data via JSON is not supported/);
});

describe('in a program of its own', () => {
  const folder = new ModelRepository();
  let engine: EmbeddedEngine;

  beforeAll(async () => {
    for (const [name, [model]] of Object.entries(refusedModels)) folder.write(`${name}.onnx`, model);
    for (const name of ['half_floats', 'single_value']) folder.write(`${name}.onnx`, plainModels[name] as Uint8Array);
    engine = await createEngine({ models: folder.path, allowFailures: true, worker: { lane: 'inline' } });
  });
  afterAll(async () => {
    await engine.close();
    folder.remove();
  });

  test('half floats go in and come out as numbers', async () => {
    for (const data of [[1.5, -2], Float32Array.of(1.5, -2), Uint16Array.of(0x3e00, 0xc000)]) {
      const { outputs } = await engine.infer('half_floats', { x: { shape: [2], data } });
      expect(outputs).toEqual({ y: { datatype: 'FP16', shape: [2], data: Float32Array.of(3, -4) } });
    }
  });

  test('a single value has no dimensions', async () => {
    const { outputs } = await engine.infer('single_value', { x: { shape: [], data: [4] } });
    expect(outputs).toEqual({ y: { datatype: 'FP32', shape: [], data: Float32Array.of(8) } });
  });

  test.each(Object.entries(refusedModels))(
    '%s is refused with what to change, and others are served',
    (name, [, reason]) => {
      expect(engine.statuses().find((status) => status.name === name)).toMatchObject({
        state: 'failed',
        reason: expect.stringMatching(reason),
      });
      expect(engine.statuses().find((status) => status.name === 'single_value')).toMatchObject({ state: 'ready' });
    },
  );
});
