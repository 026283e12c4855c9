import { field } from '@millrace/onnx/testing';
import { describe, expect, test } from 'vitest';
import { modelDefaults } from './model-parameters.ts';
import { type GivenModel, readTestModel, serveTestModel, testConfig, testEntries } from './testing/test-model.ts';

function parameter(name: string, value: string): string {
  return ` parameters { key: "millrace.${name}" value { string_value: "${value}" } }`;
}

describe('a model without a configuration', () => {
  test('is batched when every first size is free', async () => {
    const { view, policy } = await serveTestModel({});
    expect(view).toMatchObject({ name: 'm', version: '1', platform: 'onnxruntime_onnx', isBatched: true, rowsMax: 64 });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 4] }]);
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [-1, 4] }]);
    expect(policy.rowsMax).toBe(64);
    expect(view.config).toMatchObject({ max_batch_size: 64, dynamic_batching: { preferred_batch_size: [64] } });
  });

  test('is not batched when one of them is fixed, and then shows the whole shapes', async () => {
    const { view, policy } = await serveTestModel({ outputs: { y: [1, [1, 'n']] } });
    expect(view).toMatchObject({ isBatched: false, rowsMax: 1 });
    expect(view.inputs[0]?.shape).toEqual([-1, 4]);
    expect(view.outputs[0]?.shape).toEqual([1, -1]);
    expect(policy.rowsMax).toBe(1);
    expect(view.config).toMatchObject({ max_batch_size: 0 });
    expect(view.config).not.toHaveProperty('dynamic_batching');
  });

  test('takes and gives one value a row as [N], and writes it as a list of one in its configuration', async () => {
    const { view } = await serveTestModel({ inputs: { x: [7, ['n']] }, outputs: { y: [1, ['n']] } });
    expect(view).toMatchObject({ isBatched: true, rowsMax: 64 });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'INT64', shape: [-1] }]);
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [-1] }]);
    expect(view.config).toMatchObject({ input: [{ dims: [1], reshape: { shape: [] } }] });
  });

  test('takes and gives a single value as [], and writes it as a list of one in its configuration', async () => {
    const { view } = await serveTestModel({ inputs: { x: [7, []] }, outputs: { y: [1, []] } });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'INT64', shape: [] }]);
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [] }]);
    expect(view.config).toMatchObject({ output: [{ dims: [1], reshape: { shape: [] } }] });
  });

  test('that does not state a number of dimensions takes any, is not batched and shows [-1]', async () => {
    const { view } = await serveTestModel({ inputs: { x: [1, undefined] }, outputs: { y: [1, undefined] } });
    expect(view.isBatched).toBe(false);
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1], isAnyRank: true }]);
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [-1], isAnyRank: true }]);
    expect(view.config).toMatchObject({ max_batch_size: 0, input: [{ dims: [-1] }] });
  });

  test('without inputs is not batched', async () => {
    const { view } = await serveTestModel({ inputs: {}, outputs: { y: [1, ['n']] } });
    expect(view).toMatchObject({ isBatched: false, inputs: [] });
  });

  test('shows inputs that the file has a value for as optional, in their own shapes', async () => {
    const { view } = await serveTestModel({
      inputs: { x: [1, ['n']], threshold: [1, []], w: [1, [4]] },
      outputs: { y: [1, ['n']] },
      graphFields: [field(5, [field(8, 'threshold')]), field(5, [field(8, 'w')])],
    });
    expect(view.isBatched).toBe(true);
    expect(view.inputs).toEqual([
      { name: 'x', datatype: 'FP32', shape: [-1] },
      { name: 'threshold', datatype: 'FP32', shape: [], isOptional: true, hasDefault: true },
      { name: 'w', datatype: 'FP32', shape: [4], isOptional: true, hasDefault: true },
    ]);
    expect(view.config).toMatchObject({ input: [{}, { dims: [1], optional: true }, { dims: [4], optional: true }] });
  });

  test.each([
    [
      'more inputs with a value than a person would override',
      17,
      10,
      /has 17 inputs with default values, more than 16/,
    ],
    ['a file of before they could be overridden', 2, 3, undefined],
  ])('does not show them for %s', async (_, count, irVersion, warning) => {
    const names = Array.from({ length: count }, (_unused, index) => `w${index}`);
    const { view, warnings } = await serveTestModel({
      irVersion,
      inputs: { x: [1, ['batch', 4]], ...Object.fromEntries(names.map((name) => [name, [1, [4]] as const])) },
      graphFields: names.map((name) => field(5, [field(8, name)])),
    });
    expect(view.inputs.map(({ name }) => name)).toEqual(['x']);
    if (warning === undefined) expect(warnings).toEqual([]);
    else expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(warning)]);
  });

  test('with unequal names for the first sizes of its inputs is served as it is', async () => {
    const { view, warnings } = await serveTestModel({ inputs: { x: [1, ['batch', 4]], z: [1, ['nodes', 4]] } });
    expect(view).toMatchObject({ isBatched: false, inputs: [{ shape: [-1, 4] }, { shape: [-1, 4] }] });
    expect(view.sharing?.reason).toBe('the inputs name their first sizes differently (batch, nodes)');
    expect(warnings).toEqual([]);
  });

  test.each([
    [{ inputs: { x: [16, ['n']] } }, /"x" has the element type BFLOAT16, which ONNX Runtime in Node cannot carry/],
    [{ outputs: { y: [14, ['n']] } }, /"y" has the element type COMPLEX64/],
    [{ outputs: { y: [99, ['n']] } }, /"y" has the element type number 99/],
  ] satisfies [GivenModel, RegExp][])(
    'that cannot be served (%#) says why, with the model file',
    async (given, message) => {
      const { definition, failures } = await readTestModel(given);
      expect(definition).toBeUndefined();
      expect(failures[0]?.problems[0]?.message).toMatch(message);
      expect(failures[0]?.problems[0]?.source).toMatch(/1\/model\.onnx$/);
    },
  );
});

describe('a classifier that ends in a ZipMap', () => {
  const text = (name: string, ...values: string[]) =>
    field(5, [field(1, name), ...values.map((value) => field(9, value)), field(20, 8)]);
  const zipMap = (output: string, ...labels: string[]) =>
    field(1, [
      field(1, 'scores'),
      field(2, output),
      field(4, 'ZipMap'),
      text('classlabels_strings', ...labels),
      field(7, 'ai.onnx.ml'),
    ]);
  /** A sequence of maps from text to FLOAT. */
  const mapsInfo = (name: string) =>
    field(12, [
      field(1, name),
      field(2, [field(4, [field(1, [field(5, [field(1, 8), field(2, [field(1, [field(1, 1)])])])])])]),
    ]);

  test('is served with the scores as a tensor, and the keys of its maps as labels', async () => {
    const { view, cutsZipMaps } = await serveTestModel({
      outputs: { label: [8, ['batch']] },
      graphFields: [zipMap('probabilities', 'cat', 'dog', 'eel'), mapsInfo('probabilities')],
    });
    expect(view.outputs).toContainEqual({ name: 'label', datatype: 'BYTES', shape: [-1] });
    expect(view.outputs).toContainEqual({ name: 'probabilities', datatype: 'FP32', shape: [-1, 3] });
    expect(view.labels).toEqual(new Map([['probabilities', ['cat', 'dog', 'eel']]]));
    expect(view.isBatched).toBe(true);
    expect(cutsZipMaps).toBe(true);
  });

  test('may be given other labels by a configuration', async () => {
    const { view } = await serveTestModel({
      outputs: { label: [8, ['batch']] },
      graphFields: [zipMap('probabilities', 'a', 'b'), mapsInfo('probabilities')],
      config: 'output { name: "probabilities" data_type: TYPE_FP32 dims: [ 2 ] label_filename: "names.txt" }',
      files: { 'names.txt': Buffer.from('ant\nbee\n') },
    });
    expect(view.outputs).toEqual([{ name: 'probabilities', datatype: 'FP32', shape: [-1, 2] }]);
    expect(view.labels).toEqual(new Map([['probabilities', ['ant', 'bee']]]));
  });

  test('is refused where another node makes the sequence, with what to change', async () => {
    const { failures } = await readTestModel({ graphFields: [zipMap('inner', 'a'), mapsInfo('probabilities')] });
    expect(failures[0]?.problems[0]?.message).toMatch(/output "probabilities" is a sequence.*"zipmap": False/);
  });
});

describe('a configuration', () => {
  test('that is whole is served as it says', async () => {
    const { view, policy, definition } = await serveTestModel({
      config: `${testConfig} dynamic_batching { default_queue_policy { max_queue_size: 16 } }
        instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_AUTO } ]
        parameters [ { key: "millrace.lane" value { string_value: "local" } },
          { key: "millrace.worker_group" value { string_value: "small" } },
          { key: "millrace.run_ms_max" value { string_value: "500" } },
          { key: "millrace.queue_bytes_max" value { string_value: "1000" } },
          { key: "millrace.threads" value { string_value: "2" } },
          { key: "millrace.spinning" value { string_value: "true" } } ]`,
    });
    expect(view).toMatchObject({ isBatched: true, rowsMax: 8 });
    expect(policy).toMatchObject({ rowsMax: 8, queueRequestsMax: 16, queueBytesMax: 1000, runMsMax: 500 });
    expect(definition).toMatchObject({ workerGroup: 'small', instanceCount: 3, threads: 2, isSpinning: true });
    expect(definition.instanceGroups).toEqual([
      { name: 'm_0', device: 'cpu', count: 2, gpus: [], priorityMax: Infinity, threads: 0 },
      { name: 'm_1', device: 'cpu', count: 1, gpus: [], priorityMax: Infinity, threads: 0 },
    ]);
  });

  test('with a warm spare has a worker more than instances, which are used alone', async () => {
    const spare = 'parameters { key: "millrace.warm_spare" value { string_value: "1" } }';
    const { policy, definition } = await serveTestModel({
      config: `${testConfig} instance_group { count: 2 } ${spare}`,
    });
    expect(definition).toMatchObject({ instanceCount: 2, warmSpares: 1 });
    expect(policy.instancesInUseMax).toBe(2);
    const without = await serveTestModel({ config: `${testConfig} instance_group { count: 2 }` });
    expect(without.definition.warmSpares).toBe(0);
    expect(without.policy.instancesInUseMax).toBe(Infinity);
  });

  test('without dynamic batching shares runs where the rows are proven independent', async () => {
    const { view, policy, warnings } = await serveTestModel({ config: testConfig });
    expect([view.isBatched, view.rowsMax, policy.rowsMax]).toEqual([true, 8, 8]);
    expect(view.config).toHaveProperty('dynamic_batching');
    expect(warnings).toEqual([]);
  });

  test('with max_batch_size 1 has the batch dimension, and each request runs alone', async () => {
    const { view, policy, warnings } = await serveTestModel({ config: `max_batch_size: 1 ${testEntries}` });
    expect([view.isBatched, view.rowsMax, policy.rowsMax, warnings]).toEqual([true, 1, 1, []]);
    expect(view.inputs[0]?.shape).toEqual([-1, 4]);
    expect(view.config).not.toHaveProperty('dynamic_batching');
  });

  test('that says nothing of limits and lane gets those of the server', async () => {
    const defaults = { lane: 'inline', runMsMax: 1, queueRequestsMax: 2, queueBytesMax: 3, waitMsMax: 4 } as const;
    const group = 'parameters { key: "millrace.worker_group" value { string_value: "g" } }';
    const { definition, policy } = await serveTestModel({ config: group, defaults });
    expect(policy).toMatchObject({ runMsMax: 1, queueRequestsMax: 2, queueBytesMax: 3, waitMsMax: 4 });
    expect(definition).toMatchObject({ lane: 'inline', workerGroup: 'g', isGroupShared: true });
  });

  test('with millrace.queue_requests_max prefers it to the queue policy', async () => {
    const { policy } = await serveTestModel({
      config: `${testConfig} dynamic_batching { default_queue_policy { max_queue_size: 16 } }
        parameters { key: "millrace.queue_requests_max" value { string_value: "7" } }`,
    });
    expect(policy.queueRequestsMax).toBe(7);
  });

  test.each([
    ['nothing', '', Infinity, Infinity],
    ['a wait', parameter('wait_ms_max', '70'), 70, Infinity],
    ['a latency target, which bounds the wait too', parameter('latency_target_ms', '40'), 40, 40],
    ['both', parameter('latency_target_ms', '40') + parameter('wait_ms_max', '70'), 70, 40],
    [
      'a target and no bound on the wait',
      parameter('latency_target_ms', '40') + parameter('wait_ms_max', '0'),
      Infinity,
      40,
    ],
  ])('may ask for %s', async (_, config, waitMsMax, latencyTargetMs) => {
    const { policy } = await serveTestModel({ config });
    expect(policy).toMatchObject({ waitMsMax, latencyTargetMs });
  });

  test('may put the model inline, and name the threads as Triton does', async () => {
    const { definition, warnings } = await serveTestModel({
      config: `parameters { key: "millrace.lane" value { string_value: "inline" } }
        parameters { key: "intra_op_thread_count" value { string_value: "3" } }`,
    });
    expect([definition.lane, definition.threads, warnings]).toEqual(['inline', 3, []]);
  });

  test('may not put the model inline where workers have a user of their own', async () => {
    const { failures } = await readTestModel({
      config: 'parameters { key: "millrace.lane" value { string_value: "inline" } }',
      defaults: { ...modelDefaults, isInlineRefused: true },
    });
    expect(failures[0]?.problems[0]?.message).toMatch(
      /with the permissions of the server, although worker\.user is set/,
    );
  });

  test('with max_batch_size alone is completed with it', async () => {
    const { view } = await serveTestModel({ config: 'max_batch_size: 5 dynamic_batching { }' });
    expect(view.config).toMatchObject({ max_batch_size: 5, dynamic_batching: { preferred_batch_size: [5] } });
  });

  test('with max_batch_size 0 written out is not batched', async () => {
    const { view } = await serveTestModel({ config: 'max_batch_size: 0' });
    expect([view.isBatched, view.inputs[0]?.shape]).toEqual([false, [-1, 4]]);
  });

  test('with max_batch_size 0 written out may belong to a graph that cannot be batched', async () => {
    const { view } = await serveTestModel({ config: 'max_batch_size: 0', inputs: { x: [1, [1, 4]] } });
    expect(view.inputs[0]?.shape).toEqual([1, 4]);
  });

  test.each([
    ['dims: [ 4 ]', true],
    ['dims: [ -1, 4 ]', false],
    ['dims: [ 2, 2 ] reshape { shape: [ 4 ] }', true],
  ])('with only an input of %s is completed to match it', async (dims, isBatched) => {
    const { view } = await serveTestModel({ config: `input { name: "x" data_type: TYPE_FP32 ${dims} }` });
    expect(view.isBatched).toBe(isBatched);
  });

  test('may leave outputs out, and list them in its own order', async () => {
    const { view } = await serveTestModel({
      outputs: { a: [1, ['n', 1]], b: [1, ['n', 1]], c: [1, ['n', 1]] },
      config: 'output { name: "c" data_type: TYPE_FP32 dims: 1 } output { name: "a" data_type: TYPE_FP32 dims: 1 }',
    });
    expect(view.outputs.map(({ name }) => name)).toEqual(['c', 'a']);
  });

  test.each(['', 'reshape { }'])('that writes one value a row as a list of one is served so (%s)', async (reshape) => {
    const { view } = await serveTestModel({
      inputs: { x: [1, ['n']] },
      outputs: { y: [1, ['n']] },
      config: `max_batch_size: 8 input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] ${reshape} }`,
    });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 1], engineShape: [-1] }]);
    // The output is not written, so that it keeps the graph's shape.
    expect(view.outputs).toEqual([{ name: 'y', datatype: 'FP32', shape: [-1] }]);
  });

  test('that writes a single value as a list of one is served so', async () => {
    const { view } = await serveTestModel({
      inputs: { x: [1, []] },
      config: 'input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }',
    });
    expect(view.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [1], engineShape: [] }]);
  });

  test('may list an input that has a default and no batch dimension', async () => {
    const { view } = await serveTestModel({
      inputs: { x: [1, ['batch', 4]], threshold: [1, []], w: [1, [2, 4]] },
      graphFields: [field(5, [field(8, 'threshold')]), field(5, [field(8, 'w')])],
      config: `${testConfig}
        input { name: "threshold" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
        input { name: "w" data_type: TYPE_FP32 dims: [ 2, 4 ] optional: true }`,
    });
    const marks = { isOptional: true, hasDefault: true };
    expect(view).toMatchObject({ isBatched: true, rowsMax: 8 });
    expect(view.inputs.slice(1)).toEqual([
      { name: 'threshold', datatype: 'FP32', shape: [1], engineShape: [], ...marks },
      { name: 'w', datatype: 'FP32', shape: [2, 4], ...marks },
    ]);
  });

  test('may reshape, and may show an input with a default as optional', async () => {
    const { view } = await serveTestModel({
      inputs: { x: [1, ['n', 4]], w: [1, ['n', 4]] },
      graphFields: [field(5, [field(8, 'w')])],
      config: `max_batch_size: 4
        input [ { name: "x" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: [ 4 ] } },
                { name: "w" data_type: TYPE_FP32 dims: [ 4 ] optional: true } ]
        output { name: "y" data_type: TYPE_FP32 dims: [ 1, 4 ] reshape { shape: [ 4 ] } }`,
    });
    expect(view.inputs).toEqual([
      { name: 'x', datatype: 'FP32', shape: [-1, 2, 2], engineShape: [-1, 4] },
      { name: 'w', datatype: 'FP32', shape: [-1, 4], isOptional: true, hasDefault: true },
    ]);
    expect(view.outputs[0]).toMatchObject({ shape: [-1, 1, 4], engineShape: [-1, 4] });
  });

  test('may state a shape that the graph does not, and fix what the graph leaves free', async () => {
    const { view } = await serveTestModel({
      inputs: { x: [1, undefined] },
      outputs: { y: [1, ['n', 'm']] },
      config: `max_batch_size: 2 ${testEntries}`,
    });
    expect(view.inputs[0]?.shape).toEqual([-1, 4]);
    expect(view.outputs[0]?.shape).toEqual([-1, 4]);
  });

  test('is reported in full, as Triton reports it', async () => {
    const { view } = await serveTestModel({ config: `${testConfig} dynamic_batching { }` });
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
      parameters: {
        'millrace.batch.shares': { string_value: 'true' },
        'millrace.batch.verdict': { string_value: 'independent' },
        'millrace.batch.reason': {
          string_value: 'the configuration says so (dynamic_batching); the rows of the graph are proven independent',
        },
      },
      model_warmup: [],
    });
  });
});
