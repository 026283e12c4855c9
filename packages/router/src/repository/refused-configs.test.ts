import { describe, expect, test } from 'vitest';
import { type GivenModel, readTestModel, testConfig, testEntries } from './testing/test-model.ts';

const twoGroups = `${testConfig} dynamic_batching { priority_levels: 2 default_priority_level: 2 } instance_group { name: "fast" } instance_group { name: "slow" }`;

describe('a configuration that cannot be served is reported with line and field', () => {
  const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`;
  test.each<[config: string, field: string, message: RegExp]>([
    // Head
    ['name: "other"', 'name', /is "other", but the folder is "m"; make them equal/],
    [
      'platform: "tensorrt_plan"',
      'platform',
      /"tensorrt_plan" is not supported yet; only onnxruntime_onnx, ensemble, millrace_pipeline and millrace_generator are/,
    ],
    ['backend: "python"', 'backend', /"python" is not supported yet; only onnxruntime, pipeline and generator are/],
    ['default_model_filename: "../x"', 'default_model_filename', /inside the version folder/],
    ['default_model_filename: "/x"', 'default_model_filename', /inside the version folder/],
    ['default_model_filename: ""', 'default_model_filename', /inside the version folder/],
    ['max_batch_size: -1', 'max_batch_size', /-1 is out of range; it must be 0 \(no batching\) or more/],
    // What is not done
    [
      'sequence_batching { iterative_sequence: true }',
      'sequence_batching.iterative_sequence',
      /iterative sequences are not supported/,
    ],
    [
      'model_transaction_policy { decoupled: true }',
      'model_transaction_policy.decoupled',
      /only pipelines and generators give several answers/,
    ],
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
    [`${testConfig} input { is_shape_tensor: true }`, 'input[1].is_shape_tensor', /TensorRT only/],
    [`${testConfig} input { is_non_linear_format_io: true }`, 'input[1].is_non_linear_format_io', /TensorRT only/],
    [`${testConfig} output { is_shape_tensor: true }`, 'output[1].is_shape_tensor', /TensorRT only/],
    [`${testConfig} output { is_non_linear_format_io: true }`, 'output[1].is_non_linear_format_io', /TensorRT only/],
    // Instances
    ['instance_group { kind: KIND_GPU }', 'instance_group[0].kind', /needs the engine.s CUDA provider/],
    ['instance_group { count: -1 }', 'instance_group[0].count', /-1 is out of range; it must be from 1 to 256/],
    ['instance_group { count: 257 }', 'instance_group[0].count', /257 is out of range/],
    ['instance_group { kind: KIND_CPU gpus: 0 }', 'instance_group[0].gpus', /cannot be given with KIND_CPU/],
    ['instance_group { gpus: -1 }', 'instance_group[0].gpus', /numbered from 0/],
    ['instance_group { passive: true }', 'instance_group[0].passive', /would never run/],
    ['instance_group { profile: "0" }', 'instance_group[0].profile', /TensorRT only/],
    ['instance_group { secondary_devices { } }', 'instance_group[0].secondary_devices', /TensorRT only/],
    // Our own parameters
    [
      parameter('millrace.warm_spare', '17'),
      'parameters["millrace.warm_spare"]',
      /"17" is not a whole number from 0 to 16/,
    ],
    [
      `${parameter('millrace.warm_spare', '1')} ${parameter('millrace.lane', 'inline')}`,
      'parameters["millrace.warm_spare"]',
      /has no meaning with millrace\.lane "inline", which has no worker process; remove one/,
    ],
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
      `${testConfig} dynamic_batching { preferred_batch_size: [ 4, 9 ] }`,
      'dynamic_batching.preferred_batch_size[1]',
      /9 is out of range; it must be from 1 to max_batch_size \(8\)/,
    ],
    [
      `${testConfig} dynamic_batching { preferred_batch_size: 0 }`,
      'dynamic_batching.preferred_batch_size[0]',
      /0 is out of range/,
    ],
    [
      `${testConfig} dynamic_batching { priority_levels: 2 }`,
      'dynamic_batching.default_priority_level',
      /from 1 to priority_levels \(2\)/,
    ],
    [
      `${testConfig} dynamic_batching { default_priority_level: 1 }`,
      'dynamic_batching.default_priority_level',
      /from 1 to priority_levels \(0\)/,
    ],
    [
      `${testConfig} dynamic_batching { priority_levels: 1025 default_priority_level: 1 }`,
      'dynamic_batching.priority_levels',
      /1025 is out of range; it must be at most 1024/,
    ],
    [
      `${testConfig} dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } } }`,
      'dynamic_batching.priority_queue_policy["3"]',
      /levels are from 1 to priority_levels \(2\)/,
    ],
    [
      `${testConfig} dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }`,
      'dynamic_batching.preserve_ordering',
      /with 2 priority levels; remove it, or write priority_levels: 1/,
    ],
    [
      `${testConfig} dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 } }`,
      'dynamic_batching.default_queue_policy.timeout_action',
      /DELAY lets requests be overtaken, which preserve_ordering forbids/,
    ],
    [
      `${testConfig} dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1 } } }`,
      'dynamic_batching.priority_queue_policy["1"].timeout_action',
      /preserve_ordering forbids/,
    ],
    [parameter('millrace.weight', '0'), 'parameters["millrace.weight"]', /whole number from 1 to 1000/],
    [parameter('millrace.wait_ms_max', '-1'), 'parameters["millrace.wait_ms_max"]', /whole number from 0 to/],
    [
      `${testConfig} dynamic_batching { max_queue_delay_microseconds: 1 } ${parameter('millrace.latency_target_ms', '9')}`,
      'parameters["millrace.latency_target_ms"]',
      /contradicts max_queue_delay_microseconds/,
    ],
    [
      `${twoGroups} ${parameter('millrace.reserve.fats', '1')}`,
      'parameters["millrace.reserve.fats"]',
      /no instance group "fats" \(did you mean fast\?\)/,
    ],
    [
      `${twoGroups} ${parameter('millrace.reserve.fast', '2')}`,
      'parameters["millrace.reserve.fast"]',
      /from 1 to 1, below the 2 priority_levels/,
    ],
    [
      `${twoGroups} ${parameter('millrace.threads.fast', '0')}`,
      'parameters["millrace.threads.fast"]',
      /from 1 to 1024/,
    ],
    [
      `${testConfig} instance_group { name: "fast" } ${parameter('millrace.reserve.fast', '1')}`,
      'parameters["millrace.reserve.fast"]',
      /write priority_levels in dynamic_batching/,
    ],
    [
      `${twoGroups} ${parameter('millrace.reserve.fast', '1')} ${parameter('millrace.reserve.slow', '1')}`,
      'parameters',
      /no instance takes the least urgent requests/,
    ],
    // Against the graph
    [testEntries, 'input[0].dims', /is \[ 4 \], but the graph has \[ -1, 4 \]/],
    [testConfig.replace('"x"', '"X"'), 'input[0].name', /the graph has no input "X" \(did you mean x\?\)/],
    [testConfig.replace('"x"', '"image"'), 'input[0].name', /the graph has no input "image"; it has x/],
    [testConfig.replace('name: "x"', ''), 'input[0].name', /is missing; the graph has x/],
    [`${testConfig} input { name: "x" data_type: TYPE_FP32 dims: 4 }`, 'input[1].name', /"x" is listed twice/],
    [testConfig.replace('"y"', '"z"'), 'output[0].name', /the graph has no output "z"/],
    [testConfig.replace('TYPE_FP32', 'TYPE_INT32'), 'input[0].data_type', /is TYPE_INT32, but the graph has TYPE_FP32/],
    [testConfig.replace('data_type: TYPE_FP32', ''), 'input[0].data_type', /is missing; the graph has TYPE_FP32/],
    [testConfig.replace('TYPE_FP32', 'TYPE_INVALID'), 'input[0].data_type', /is missing; the graph has TYPE_FP32/],
    [testConfig.replace('dims: [ 4 ]', ''), 'input[0].dims', /is missing; the graph has \[ 4 \]/],
    [
      testConfig.replace('[ 4 ]', '[ 5 ]'),
      'input[0].dims',
      /is \[ 5 \], but the graph has \[ 4 \] \(after the batch dimension/,
    ],
    [testConfig.replace('[ 4 ]', '[ -1 ]'), 'input[0].dims', /is \[ -1 \], but the graph has \[ 4 \]/],
    [testConfig.replace('[ 4 ]', '[ 4, 1 ]'), 'input[0].dims', /is \[ 4, 1 \]/],
    [testConfig.replace('[ 4 ]', '[ 0 ]'), 'input[0].dims[0]', /0 is not a size; write a whole number from 1, or -1/],
    [testConfig.replace('[ 4 ]', '[ -2 ]'), 'input[0].dims[0]', /-2 is not a size/],
    [testConfig.replace('[ 4 ]', '[ 9007199254740993 ]'), 'input[0].dims[0]', /9007199254740993 is not a size/],
    [
      testConfig.replace('[ 4 ]', '[ 4 ] reshape { shape: [ 2 ] }'),
      'input[0].reshape',
      /does not hold as many elements/,
    ],
    [testConfig.replace('[ 4 ]', '[ 4 ] reshape { shape: [ 4, 0 ] }'), 'input[0].reshape.shape[1]', /0 is not a size/],
    [
      testConfig.replace('[ 4 ]', '[ 4 ] reshape { shape: [ 4, -1 ] }'),
      'input[0].reshape',
      /numbers of free sizes must be equal/,
    ],
    [
      testConfig.replace('[ 4 ]', '[ 2, 2 ] reshape { shape: [ 2, 2 ] }'),
      'input[0].reshape.shape',
      /is \[ 2, 2 \], but the graph has \[ 4 \]/,
    ],
    [testConfig.replace('[ 4 ]', '[ 4 ] optional: true'), 'input[0].optional', /has no default value for this input/],
    [testConfig.replace('[ 4 ]', '[ 4 ] format: FORMAT_NHWC'), 'input[0].format', /FORMAT_NHWC needs 3 dims/],
  ])('%j', async (config, fieldPath, message) => {
    // On the second line, so that a line number of 1 cannot be there by chance.
    const { definition, failures } = await readTestModel({ config: `\n${config}` });
    expect(definition).toBeUndefined();
    const problems = failures.flatMap((failure) => failure.problems);
    const problem = problems.find((candidate) => candidate.field === fieldPath && message.test(candidate.message));
    expect(problem, JSON.stringify(problems)).toBeDefined();
    expect(problem?.line).toBe(2);
    expect(problem?.source).toMatch(/config\.pbtxt$/);
  });

  test.each<[given: GivenModel, field: string, message: RegExp]>([
    [
      { config: 'max_batch_size: 4', inputs: { x: [1, [1, 4]] } },
      'max_batch_size',
      /is 4, but "x" has the shape \[ 1, 4 \] in the graph, without a free first size/,
    ],
    [
      { config: testConfig, inputs: { x: [1, [1, 4]] } },
      'input[0].dims',
      /max_batch_size is above 0, but the graph's shape \[ 1, 4 \] does not begin with a free size/,
    ],
    [
      { config: 'max_batch_size: 4', inputs: { x: [1, undefined] } },
      'max_batch_size',
      /"x" has no stated shape in the graph/,
    ],
    [
      { config: testConfig, inputs: { x: [1, ['n', 4]], z: [1, ['n', 4]], w: [1, ['n', 4]] } },
      'input',
      /does not list "z", "w", which the graph requires/,
    ],
    [
      { config: testConfig.replace('TYPE_FP32', 'TYPE_BF16'), inputs: { x: [16, ['n', 4]] } },
      'input[0].name',
      /element type BFLOAT16, which ONNX Runtime in Node cannot carry/,
    ],
  ])('%#: the graph says otherwise', async (given, fieldPath, message) => {
    const { failures } = await readTestModel(given);
    const problem = failures.flatMap(({ problems }) => problems).find((candidate) => candidate.field === fieldPath);
    expect(problem?.message).toMatch(message);
    expect(problem?.line).toBe(1);
  });

  test('every problem of a model is reported at once', async () => {
    const { failures } = await readTestModel({
      config: 'name: "q"\nbackend: "z"\nsequence_batching { iterative_sequence: true }\nmax_batchsize: 1',
    });
    expect(failures[0]?.problems.map(({ field: path }) => path).sort()).toEqual([
      'backend',
      'max_batchsize',
      'name',
      'sequence_batching.iterative_sequence',
    ]);
  });

  test('every disagreement with the graph is reported at once', async () => {
    const { failures } = await readTestModel({
      config: testConfig.replace('TYPE_FP32', 'TYPE_INT8').replace('[ 4 ] }', '[ 7 ] }').replace('"y"', '"z"'),
    });
    expect(failures[0]?.problems.map(({ field: path }) => path)).toEqual([
      'input[0].data_type',
      'input[0].dims',
      'output[0].name',
    ]);
  });
});
