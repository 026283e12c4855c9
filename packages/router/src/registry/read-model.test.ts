import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelReading } from './model-definition.ts';
import { type ModelDefaults, modelDefaults } from './model-parameters.ts';
import { readModel } from './read-model.ts';
import { field, modelBytes, type TestShape, tensorInfo } from './testing/model-bytes.ts';
import { TestRepository } from './testing/test-repository.ts';

let repository: TestRepository;
let count = 0;
beforeAll(async () => {
  repository = await TestRepository.create();
});
afterAll(() => repository.remove());

type Tensors = Readonly<Record<string, readonly [elementType: number, shape: TestShape | undefined]>>;
interface Given {
  readonly config?: string;
  readonly inputs?: Tensors;
  readonly outputs?: Tensors;
  readonly graphFields?: readonly Uint8Array[];
  readonly hasGpu?: boolean;
  readonly defaults?: ModelDefaults;
}

const infos = (tensors: Tensors) =>
  Object.entries(tensors).map(([name, [type, shape]]) => tensorInfo(name, type, shape));

/** Reads a model `m` with this configuration and graph; by default x FP32 [batch, 4] to y FP32 [batch, 4]. */
async function read({
  config,
  inputs,
  outputs,
  graphFields = [],
  hasGpu = false,
  defaults = modelDefaults,
}: Given): Promise<ModelReading> {
  count += 1;
  const folder = `${count}/m`;
  const bytes = modelBytes({
    inputs: infos(inputs ?? { x: [1, ['batch', 4]] }),
    outputs: infos(outputs ?? { y: [1, ['batch', 4]] }),
    graphFields,
  });
  await repository.write(`${folder}/1/model.onnx`, bytes);
  if (config !== undefined) await repository.write(`${folder}/config.pbtxt`, config);
  const path = `${repository.path}/${folder}`;
  return readModel(
    { name: 'm', path, isSingleFile: false, hasConfig: config !== undefined, versions: ['1'] },
    { hasGpu, defaults },
  );
}

async function served(given: Given) {
  const { definition, failures, warnings } = await read(given);
  expect(failures).toEqual([]);
  const version = definition?.versions[0];
  if (definition === undefined || version === undefined) throw new Error('the model was not served');
  return { definition, warnings, ...version };
}

const io = 'input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }';
const whole = `max_batch_size: 8 ${io}`;

describe('a model without a configuration', () => {
  test('is batched when every first size is free', async () => {
    const { view, limits } = await served({});
    expect(view).toMatchObject({ name: 'm', version: '1', platform: 'onnxruntime_onnx', isBatched: true, rowsMax: 64 });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 4] }]);
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [-1, 4] }]);
    expect(limits.rowsMax).toBe(64);
    expect(view.config).toMatchObject({ max_batch_size: 64, dynamic_batching: { preferred_batch_size: [64] } });
  });

  test('is not batched when one of them is fixed, and then shows the whole shapes', async () => {
    const { view, limits } = await served({ outputs: { y: [1, [1, 'n']] } });
    expect(view).toMatchObject({ isBatched: false, rowsMax: 1 });
    expect(view.inputs[0]?.shape).toEqual([-1, 4]);
    expect(view.outputs[0]?.shape).toEqual([1, -1]);
    expect(limits.rowsMax).toBe(1);
    expect(view.config).toMatchObject({ max_batch_size: 0 });
    expect(view.config).not.toHaveProperty('dynamic_batching');
  });

  test('shows a single value for each row as a list of one', async () => {
    const { view } = await served({ inputs: { x: [7, ['n']] } });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'INT64', shape: [-1, 1], engineShape: [-1] }]);
    expect(view.config).toMatchObject({ input: [{ dims: [1], reshape: { shape: [] } }] });
  });

  test('shows a single value as a list of one when not batched', async () => {
    const { view } = await served({ inputs: { x: [7, []] }, outputs: { y: [1, []] } });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'INT64', shape: [1], engineShape: [] }]);
    expect(view.outputs[0]).toMatchObject({ shape: [1], engineShape: [] });
  });

  test('without inputs is not batched', async () => {
    const { view } = await served({ inputs: {}, outputs: { y: [1, ['n']] } });
    expect(view).toMatchObject({ isBatched: false, inputs: [] });
  });

  test('does not show inputs that the file has a value for', async () => {
    const { view } = await served({
      inputs: { x: [1, ['n']], w: [1, [4]] },
      graphFields: [field(5, [field(8, 'w')])],
    });
    expect(view.inputs.map(({ name }) => name)).toEqual(['x']);
  });

  test('with unequal names for its first sizes is batched with a warning', async () => {
    const { view, warnings } = await served({ outputs: { y: [1, ['detections', 4]] } });
    expect(view.isBatched).toBe(true);
    expect(warnings[0]?.message).toMatch(
      /names its first sizes differently \(batch, detections\); write max_batch_size: 0/,
    );
  });

  test.each([
    [{ inputs: { x: [16, ['n']] } }, /"x" has the element type BFLOAT16, which ONNX Runtime in Node cannot carry/],
    [{ outputs: { y: [14, ['n']] } }, /"y" has the element type COMPLEX64/],
    [{ outputs: { y: [99, ['n']] } }, /"y" has the element type number 99/],
    [
      { inputs: { x: [1, undefined] } },
      /does not state the shape of "x"; write all inputs and outputs in config.pbtxt/,
    ],
  ] satisfies [Given, RegExp][])('that cannot be served (%#) says why, with the model file', async (given, message) => {
    const { definition, failures } = await read(given);
    expect(definition).toBeUndefined();
    expect(failures[0]?.problems[0]?.message).toMatch(message);
    expect(failures[0]?.problems[0]?.source).toMatch(/1\/model\.onnx$/);
  });
});

describe('a configuration', () => {
  test('that is whole is served as it says', async () => {
    const { view, limits, definition } = await served({
      config: `${whole} dynamic_batching { default_queue_policy { max_queue_size: 16 } }
        instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_AUTO } ]
        parameters [ { key: "millrace.lane" value { string_value: "local" } },
          { key: "millrace.worker_group" value { string_value: "small" } },
          { key: "millrace.run_ms_max" value { string_value: "500" } },
          { key: "millrace.queue_bytes_max" value { string_value: "1000" } },
          { key: "millrace.threads" value { string_value: "2" } },
          { key: "millrace.spinning" value { string_value: "true" } } ]`,
    });
    expect(view).toMatchObject({ isBatched: true, rowsMax: 8 });
    expect(limits).toEqual({ rowsMax: 8, queueRequestsMax: 16, queueBytesMax: 1000, runMsMax: 500 });
    expect(definition).toMatchObject({ workerGroup: 'small', instanceCount: 3, threads: 2, isSpinning: true });
    expect(definition.instanceGroups).toEqual([
      { name: 'm_0', device: 'cpu', count: 2, gpus: [] },
      { name: 'm_1', device: 'cpu', count: 1, gpus: [] },
    ]);
  });

  test('without dynamic batching is batched all the same, with a warning', async () => {
    const { view, limits, warnings } = await served({ config: whole });
    expect([view.isBatched, view.rowsMax, limits.rowsMax]).toEqual([true, 8, 8]);
    expect(view.config).toHaveProperty('dynamic_batching');
    expect(warnings.map(({ field: path }) => path)).toEqual(['max_batch_size']);
    expect(warnings[0]?.message).toMatch(/share a run, also without dynamic_batching; set it to 1/);
  });

  test('with max_batch_size 1 has the batch dimension, and each request runs alone', async () => {
    const { view, limits, warnings } = await served({ config: `max_batch_size: 1 ${io}` });
    expect([view.isBatched, view.rowsMax, limits.rowsMax, warnings]).toEqual([true, 1, 1, []]);
    expect(view.inputs[0]?.shape).toEqual([-1, 4]);
    expect(view.config).not.toHaveProperty('dynamic_batching');
  });

  test('that says nothing of limits and lane gets those of the server', async () => {
    const defaults = { lane: 'inline', runMsMax: 1, queueRequestsMax: 2, queueBytesMax: 3 } as const;
    const group = 'parameters { key: "millrace.worker_group" value { string_value: "g" } }';
    const { definition, limits } = await served({ config: group, defaults });
    expect(limits).toMatchObject({ runMsMax: 1, queueRequestsMax: 2, queueBytesMax: 3 });
    expect(definition).toMatchObject({ lane: 'inline', workerGroup: 'g', isGroupShared: true });
  });

  test('with millrace.queue_requests_max prefers it to the queue policy', async () => {
    const { limits } = await served({
      config: `${whole} dynamic_batching { default_queue_policy { max_queue_size: 16 } }
        parameters { key: "millrace.queue_requests_max" value { string_value: "7" } }`,
    });
    expect(limits.queueRequestsMax).toBe(7);
  });

  test('may put the model inline, and name the threads as Triton does', async () => {
    const { definition, warnings } = await served({
      config: `parameters { key: "millrace.lane" value { string_value: "inline" } }
        parameters { key: "intra_op_thread_count" value { string_value: "3" } }`,
    });
    expect([definition.lane, definition.threads, warnings]).toEqual(['inline', 3, []]);
  });

  test('with max_batch_size alone is completed with it', async () => {
    const { view } = await served({ config: 'max_batch_size: 5 dynamic_batching { }' });
    expect(view.config).toMatchObject({ max_batch_size: 5, dynamic_batching: { preferred_batch_size: [5] } });
  });

  test('with max_batch_size 0 written out is not batched', async () => {
    const { view } = await served({ config: 'max_batch_size: 0' });
    expect([view.isBatched, view.inputs[0]?.shape]).toEqual([false, [-1, 4]]);
  });

  test.each([
    ['dims: [ 4 ]', true],
    ['dims: [ -1, 4 ]', false],
    ['dims: [ 2, 2 ] reshape { shape: [ 4 ] }', true],
  ])('with only an input of %s is completed to match it', async (dims, isBatched) => {
    const { view } = await served({ config: `input { name: "x" data_type: TYPE_FP32 ${dims} }` });
    expect(view.isBatched).toBe(isBatched);
  });

  test('may leave outputs out, and list them in its own order', async () => {
    const { view } = await served({
      outputs: { a: [1, ['n', 1]], b: [1, ['n', 1]], c: [1, ['n', 1]] },
      config: 'output { name: "c" data_type: TYPE_FP32 dims: 1 } output { name: "a" data_type: TYPE_FP32 dims: 1 }',
    });
    expect(view.outputs.map(({ name }) => name)).toEqual(['c', 'a']);
  });

  test('may reshape, and may show an input with a default as optional', async () => {
    const { view } = await served({
      inputs: { x: [1, ['n', 4]], w: [1, ['n', 4]] },
      graphFields: [field(5, [field(8, 'w')])],
      config: `max_batch_size: 4
        input [ { name: "x" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } },
                { name: "w" data_type: TYPE_FP32 dims: [ 4 ] optional: true } ]
        output { name: "y" data_type: TYPE_FP32 dims: [ 1, 4 ] reshape { shape: [ 4 ] } }`,
    });
    expect(view.inputs).toEqual([
      { name: 'x', datatype: 'FP32', shape: [-1, 2, 2], engineShape: [-1, 4] },
      { name: 'w', datatype: 'FP32', shape: [-1, 4], isOptional: true },
    ]);
    expect(view.outputs[0]).toMatchObject({ shape: [-1, 1, 4], engineShape: [-1, 4] });
  });

  test('may state a shape that the graph does not, and fix what the graph leaves free', async () => {
    const { view } = await served({
      inputs: { x: [1, undefined] },
      outputs: { y: [1, ['n', 'm']] },
      config: `max_batch_size: 2 ${io}`,
    });
    expect(view.inputs[0]?.shape).toEqual([-1, 4]);
    expect(view.outputs[0]?.shape).toEqual([-1, 4]);
  });

  test('answers in full, as Triton prints it', async () => {
    const { view } = await served({ config: `${whole} dynamic_batching { }` });
    expect(view.config).toEqual({
      name: 'm',
      platform: 'onnxruntime_onnx',
      backend: 'onnxruntime',
      runtime: '',
      version_policy: { latest: { num_versions: 1 } },
      max_batch_size: 8,
      input: [
        {
          name: 'x',
          data_type: 'TYPE_FP32',
          format: 'FORMAT_NONE',
          dims: [4],
          is_shape_tensor: false,
          allow_ragged_batch: false,
          optional: false,
          is_non_linear_format_io: false,
        },
      ],
      output: [
        {
          name: 'y',
          data_type: 'TYPE_FP32',
          dims: [4],
          label_filename: '',
          is_shape_tensor: false,
          is_non_linear_format_io: false,
        },
      ],
      batch_input: [],
      batch_output: [],
      optimization: {
        priority: 'PRIORITY_DEFAULT',
        input_pinned_memory: { enable: true },
        output_pinned_memory: { enable: true },
        gather_kernel_buffer_threshold: 0,
        eager_batching: false,
      },
      dynamic_batching: {
        preferred_batch_size: [8],
        max_queue_delay_microseconds: 0,
        preserve_ordering: false,
        priority_levels: 0,
        default_priority_level: 0,
        priority_queue_policy: {},
      },
      instance_group: [
        {
          name: 'm',
          kind: 'KIND_CPU',
          count: 1,
          gpus: [],
          secondary_devices: [],
          profile: [],
          passive: false,
          host_policy: '',
        },
      ],
      default_model_filename: 'model.onnx',
      cc_model_filenames: {},
      metric_tags: {},
      parameters: {},
      model_warmup: [],
    });
  });

  test('may ask for a GPU where there is one', async () => {
    const config = `${whole} instance_group { kind: KIND_GPU count: 2 gpus: [ 0, 1 ] }`;
    const { definition, view } = await served({ config, hasGpu: true });
    expect(definition.instanceGroups).toEqual([{ name: 'm_0', device: 'gpu', count: 2, gpus: [0, 1] }]);
    expect(view.config).toMatchObject({ instance_group: [{ kind: 'KIND_GPU', gpus: [0, 1] }] });
  });
});

describe('a configuration that cannot be served is told with line and field', () => {
  const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`;
  test.each<[config: string, field: string, message: RegExp]>([
    // Head
    ['name: "other"', 'name', /is "other", but the folder is "m"; make them equal/],
    ['platform: "tensorrt_plan"', 'platform', /"tensorrt_plan" is not supported yet; only onnxruntime_onnx is/],
    ['backend: "python"', 'backend', /"python" is not supported yet; only onnxruntime is/],
    ['default_model_filename: "../x"', 'default_model_filename', /inside the version folder/],
    ['default_model_filename: "/x"', 'default_model_filename', /inside the version folder/],
    ['default_model_filename: ""', 'default_model_filename', /inside the version folder/],
    ['max_batch_size: -1', 'max_batch_size', /-1 is out of range; it must be 0 \(no batching\) or more/],
    // What is not done
    ['sequence_batching { }', 'sequence_batching', /not supported yet; pass the state as explicit inputs/],
    ['ensemble_scheduling { }', 'ensemble_scheduling', /ensembles are not supported yet/],
    [
      'model_transaction_policy { decoupled: true }',
      'model_transaction_policy.decoupled',
      /decoupled models are not supported/,
    ],
    ['batch_input { }', 'batch_input', /ragged batching/],
    ['batch_output { }', 'batch_output', /ragged batching/],
    [
      'model_operations { op_library_filename: "x.so" }',
      'model_operations.op_library_filename',
      /custom operator libraries/,
    ],
    [
      'model_repository_agents { agents { name: "checksum" } }',
      'model_repository_agents.agents',
      /checks would be skipped/,
    ],
    [
      `${whole} input { allow_ragged_batch: true }`,
      'input[1].allow_ragged_batch',
      /ragged batches are not supported yet/,
    ],
    [`${whole} input { is_shape_tensor: true }`, 'input[1].is_shape_tensor', /TensorRT only/],
    [`${whole} input { is_non_linear_format_io: true }`, 'input[1].is_non_linear_format_io', /TensorRT only/],
    [`${whole} output { is_shape_tensor: true }`, 'output[1].is_shape_tensor', /TensorRT only/],
    [`${whole} output { is_non_linear_format_io: true }`, 'output[1].is_non_linear_format_io', /TensorRT only/],
    // Instances
    ['instance_group { kind: KIND_GPU }', 'instance_group[0].kind', /needs a GPU build of the engine/],
    ['instance_group { count: -1 }', 'instance_group[0].count', /-1 is out of range; it must be from 1 to 256/],
    ['instance_group { count: 257 }', 'instance_group[0].count', /257 is out of range/],
    ['instance_group { kind: KIND_CPU gpus: 0 }', 'instance_group[0].gpus', /cannot be given with KIND_CPU/],
    ['instance_group { gpus: -1 }', 'instance_group[0].gpus', /numbered from 0/],
    ['instance_group { passive: true }', 'instance_group[0].passive', /would never run/],
    ['instance_group { profile: "0" }', 'instance_group[0].profile', /TensorRT only/],
    ['instance_group { secondary_devices { } }', 'instance_group[0].secondary_devices', /TensorRT only/],
    // Our own parameters
    [
      parameter('millrace.lain', 'local'),
      'parameters["millrace.lain"]',
      /no such parameter \(did you mean millrace\.lane\?\)/,
    ],
    [parameter('millrace.lane', 'remote'), 'parameters["millrace.lane"]', /"remote" is none of local, inline/],
    [parameter('millrace.worker_group', 'a/b'), 'parameters["millrace.worker_group"]', /is not a name/],
    [parameter('millrace.worker_group', ''), 'parameters["millrace.worker_group"]', /is not a name/],
    [
      `${parameter('millrace.worker_group', 'g')} ${parameter('millrace.lane', 'inline')}`,
      'parameters["millrace.worker_group"]',
      /no meaning with/,
    ],
    [parameter('millrace.run_ms_max', '0'), 'parameters["millrace.run_ms_max"]', /whole number from 1 to 86400000/],
    [parameter('millrace.run_ms_max', '1.5'), 'parameters["millrace.run_ms_max"]', /"1\.5" is not a whole number/],
    [parameter('millrace.run_ms_max', '86400001'), 'parameters["millrace.run_ms_max"]', /whole number from 1 to/],
    [parameter('millrace.queue_requests_max', '-5'), 'parameters["millrace.queue_requests_max"]', /from 1 to 1000000/],
    [parameter('millrace.queue_bytes_max', '1e9'), 'parameters["millrace.queue_bytes_max"]', /whole number/],
    [parameter('millrace.threads', '1025'), 'parameters["millrace.threads"]', /from 0 to 1024/],
    [parameter('millrace.spinning', 'yes'), 'parameters["millrace.spinning"]', /none of true, false/],
    // Batching
    [
      `${whole} dynamic_batching { preferred_batch_size: [ 4, 9 ] }`,
      'dynamic_batching.preferred_batch_size[1]',
      /9 is out of range; it must be from 1 to max_batch_size \(8\)/,
    ],
    [
      `${whole} dynamic_batching { preferred_batch_size: 0 }`,
      'dynamic_batching.preferred_batch_size[0]',
      /0 is out of range/,
    ],
    [
      `${whole} dynamic_batching { priority_levels: 2 }`,
      'dynamic_batching.default_priority_level',
      /from 1 to priority_levels \(2\)/,
    ],
    [
      `${whole} dynamic_batching { default_priority_level: 1 }`,
      'dynamic_batching.default_priority_level',
      /from 1 to priority_levels \(0\)/,
    ],
    // Against the graph
    [io, 'input[0].dims', /is \[ 4 \], but the graph has \[ -1, 4 \]/],
    [whole.replace('"x"', '"X"'), 'input[0].name', /the graph has no input "X" \(did you mean x\?\)/],
    [whole.replace('"x"', '"image"'), 'input[0].name', /the graph has no input "image"; it has x/],
    [whole.replace('name: "x"', ''), 'input[0].name', /is missing; the graph has x/],
    [`${whole} input { name: "x" data_type: TYPE_FP32 dims: 4 }`, 'input[1].name', /"x" is listed twice/],
    [whole.replace('"y"', '"z"'), 'output[0].name', /the graph has no output "z"/],
    [whole.replace('TYPE_FP32', 'TYPE_INT32'), 'input[0].data_type', /is TYPE_INT32, but the graph has TYPE_FP32/],
    [whole.replace('data_type: TYPE_FP32', ''), 'input[0].data_type', /is missing; the graph has TYPE_FP32/],
    [whole.replace('TYPE_FP32', 'TYPE_INVALID'), 'input[0].data_type', /is missing; the graph has TYPE_FP32/],
    [whole.replace('dims: [ 4 ]', ''), 'input[0].dims', /is missing; the graph has \[ 4 \]/],
    [
      whole.replace('[ 4 ]', '[ 5 ]'),
      'input[0].dims',
      /is \[ 5 \], but the graph has \[ 4 \] \(after the batch dimension/,
    ],
    [whole.replace('[ 4 ]', '[ -1 ]'), 'input[0].dims', /is \[ -1 \], but the graph has \[ 4 \]/],
    [whole.replace('[ 4 ]', '[ 4, 1 ]'), 'input[0].dims', /is \[ 4, 1 \]/],
    [whole.replace('[ 4 ]', '[ 0 ]'), 'input[0].dims[0]', /0 is not a size; write a whole number from 1, or -1/],
    [whole.replace('[ 4 ]', '[ -2 ]'), 'input[0].dims[0]', /-2 is not a size/],
    [whole.replace('[ 4 ]', '[ 9007199254740993 ]'), 'input[0].dims[0]', /9007199254740993 is not a size/],
    [whole.replace('[ 4 ]', '[ 4 ] reshape { shape: [ 2 ] }'), 'input[0].reshape', /does not hold as many elements/],
    [whole.replace('[ 4 ]', '[ 4 ] reshape { shape: [ 4, 0 ] }'), 'input[0].reshape.shape[1]', /0 is not a size/],
    [whole.replace('[ 4 ]', '[ 4 ] reshape { shape: [ 4, -1 ] }'), 'input[0].reshape', /free sizes be as many/],
    [
      whole.replace('[ 4 ]', '[ 2, 2 ] reshape { shape: [ 2, 2 ] }'),
      'input[0].reshape.shape',
      /is \[ 2, 2 \], but the graph has \[ 4 \]/,
    ],
    [whole.replace('[ 4 ]', '[ 4 ] optional: true'), 'input[0].optional', /has no value of its own for this input/],
    [whole.replace('[ 4 ]', '[ 4 ] format: FORMAT_NHWC'), 'input[0].format', /FORMAT_NHWC needs 3 dims/],
  ])('%j', async (config, fieldPath, message) => {
    // The graph is asked for a second line, so that a line number of 1 cannot be there by chance.
    const { definition, failures } = await read({ config: `\n${config}` });
    expect(definition).toBeUndefined();
    const problems = failures.flatMap((failure) => failure.problems);
    const problem = problems.find((candidate) => candidate.field === fieldPath && message.test(candidate.message));
    expect(problem, JSON.stringify(problems)).toBeDefined();
    expect(problem?.line).toBe(2);
    expect(problem?.source).toMatch(/config\.pbtxt$/);
  });

  test.each<[given: Given, field: string, message: RegExp]>([
    [
      { config: 'max_batch_size: 4', inputs: { x: [1, [1, 4]] } },
      'max_batch_size',
      /is 4, but "x" has the shape \[ 1, 4 \] in the graph, without a free first size/,
    ],
    [
      { config: whole, inputs: { x: [1, [1, 4]] } },
      'input[0].dims',
      /max_batch_size is above 0, but the graph's shape \[ 1, 4 \] does not begin with a free size/,
    ],
    [
      { config: 'max_batch_size: 4', inputs: { x: [1, undefined] } },
      'max_batch_size',
      /"x" has no stated shape in the graph/,
    ],
    [
      { config: whole, inputs: { x: [1, ['n', 4]], z: [1, ['n', 4]], w: [1, ['n', 4]] } },
      'input',
      /does not list "z", "w", which the graph cannot do without/,
    ],
    [
      { config: whole.replace('TYPE_FP32', 'TYPE_BF16'), inputs: { x: [16, ['n', 4]] } },
      'input[0].name',
      /element type BFLOAT16, which ONNX Runtime in Node cannot carry/,
    ],
  ])('%#: the graph says otherwise', async (given, fieldPath, message) => {
    const { failures } = await read(given);
    const problem = failures.flatMap(({ problems }) => problems).find((candidate) => candidate.field === fieldPath);
    expect(problem?.message).toMatch(message);
    expect(problem?.line).toBe(1);
  });

  test('every problem of a model is told at once', async () => {
    const { failures } = await read({ config: 'name: "q"\nbackend: "z"\nsequence_batching { }\nmax_batchsize: 1' });
    expect(failures[0]?.problems.map(({ field: path }) => path).sort()).toEqual([
      'backend',
      'max_batchsize',
      'name',
      'sequence_batching',
    ]);
  });

  test('every disagreement with the graph is told at once', async () => {
    const { failures } = await read({
      config: whole.replace('TYPE_FP32', 'TYPE_INT8').replace('[ 4 ] }', '[ 7 ] }').replace('"y"', '"z"'),
    });
    expect(failures[0]?.problems.map(({ field: path }) => path)).toEqual([
      'input[0].data_type',
      'input[0].dims',
      'output[0].name',
    ]);
  });
});

describe('a configuration that asks for what is not done is served with a warning where that is right', () => {
  test.each([
    ['response_cache { enable: true }', 'response_cache.enable'],
    ['model_warmup { name: "w" }', 'model_warmup'],
    ['runtime: "libtriton.so"', 'runtime'],
    ['cc_model_filenames { key: "7.5" value: "x" }', 'cc_model_filenames'],
    ['metric_tags { key: "a" value: "b" }', 'metric_tags'],
    ['model_metrics { metric_control { } }', 'model_metrics'],
    ['dynamic_batching { preferred_batch_size: 4 }', 'dynamic_batching.preferred_batch_size'],
    ['dynamic_batching { max_queue_delay_microseconds: 100 }', 'dynamic_batching.max_queue_delay_microseconds'],
    ['dynamic_batching { preserve_ordering: true }', 'dynamic_batching.preserve_ordering'],
    ['dynamic_batching { priority_levels: 2 default_priority_level: 1 }', 'dynamic_batching.priority_levels'],
    [
      'dynamic_batching { default_queue_policy { default_timeout_microseconds: 1 } }',
      'dynamic_batching.default_queue_policy.default_timeout_microseconds',
    ],
    [
      'dynamic_batching { default_queue_policy { timeout_action: DELAY } }',
      'dynamic_batching.default_queue_policy.timeout_action',
    ],
    ['dynamic_batching { priority_queue_policy { key: 1 value { } } }', 'dynamic_batching.priority_queue_policy'],
    ['optimization { graph { level: 1 } }', 'optimization.graph'],
    ['optimization { priority: PRIORITY_MAX }', 'optimization.priority'],
    ['optimization { cuda { graphs: true } }', 'optimization.cuda'],
    ['optimization { execution_accelerators { } }', 'optimization.execution_accelerators'],
    ['optimization { gather_kernel_buffer_threshold: 1 }', 'optimization.gather_kernel_buffer_threshold'],
    ['optimization { eager_batching: true }', 'optimization.eager_batching'],
    ['instance_group { kind: KIND_MODEL }', 'instance_group[0].kind'],
    ['instance_group { rate_limiter { } }', 'instance_group[0].rate_limiter'],
    ['instance_group { host_policy: "p" }', 'instance_group[0].host_policy'],
    ['parameters { key: "other" value { string_value: "1" } }', 'parameters["other"]'],
  ])('%s', async (config, fieldPath) => {
    const { warnings } = await served({ config: `\n${config}` });
    expect(warnings.map(({ line, field: path }) => [line, path])).toEqual([[2, fieldPath]]);
  });

  test.each([
    'response_cache { enable: false }',
    'model_transaction_policy { decoupled: false }',
    'dynamic_batching { }',
    'optimization { input_pinned_memory { enable: false } }',
    'input { name: "x" data_type: TYPE_FP32 dims: 4 optional: false is_shape_tensor: false }',
  ])('%s asks for nothing and gets no warning', async (config) => {
    expect((await served({ config })).warnings).toEqual([]);
  });
});
