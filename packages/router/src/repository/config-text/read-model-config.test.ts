import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemsMax } from './findings.ts';
import { configBytesMax, jsonFromModelConfig, readModelConfig } from './read-model-config.ts';

function read(text: string) {
  return readModelConfig(Buffer.from(text), 'config.pbtxt');
}

test('a full configuration is read with its types', () => {
  const { config, findings } = read(`
    name: "m" platform: 'onnxruntime_onnx'
    max_batch_size: 0x8
    input [ { name: "a" data_type: TYPE_FP32 dims: [ 3, -1 ] reshape { shape: [ 3, -1 ] } optional: t },
            { name: "b" data_type: 9 dims: 1 dims: 2 } ]
    output < name: "c" data_type: TYPE_STRING dims: [1] label_filename: "l" ".txt" >
    instance_group { count: 02 kind: KIND_CPU }
    version_policy: { specific { versions: [1, 9007199254740993] } }
    parameters { key: "k" value: { string_value: "v" } }
    parameters [ { key: "l" value { string_value: "w" } }, { key: "empty" } ]
    dynamic_batching { max_queue_delay_microseconds: 18446744073709551615
      priority_queue_policy { key: 2 value { timeout_action: DELAY } } }
    sequence_batching_is_not_here_ { }
  `);
  expect(findings.problems.map(({ field }) => field)).toEqual(['sequence_batching_is_not_here_']);
  expect(config).toEqual({
    name: 'm',
    platform: 'onnxruntime_onnx',
    max_batch_size: 8,
    input: [
      { name: 'a', data_type: 'TYPE_FP32', dims: [3, -1], reshape: { shape: [3, -1] }, optional: true },
      { name: 'b', data_type: 'TYPE_INT64', dims: [1, 2] },
    ],
    output: [{ name: 'c', data_type: 'TYPE_STRING', dims: [1], label_filename: 'l.txt' }],
    instance_group: [{ count: 2, kind: 'KIND_CPU' }],
    version_policy: { specific: { versions: [1, 9007199254740993n] } },
    parameters: { k: { string_value: 'v' }, l: { string_value: 'w' }, empty: {} },
    dynamic_batching: {
      max_queue_delay_microseconds: 18446744073709551615n,
      priority_queue_policy: { '2': { timeout_action: 'DELAY' } },
    },
  });
});

describe('each mistake is reported with its line, field and remedy', () => {
  const cases: readonly [text: string, line: number | undefined, field: string | undefined, message: RegExp][] = [
    // Unknown names
    ['max_batchsize: 8', 1, 'max_batchsize', /no such field \(did you mean max_batch_size\?\)/],
    ['inputs { }', 1, 'inputs', /did you mean input\?/],
    ['\n\nzebra: 1', 3, 'zebra', /^there is no such field$/],
    ['input { dim: 1 }', 1, 'input[0].dim', /did you mean dims\?/],
    ['input { datatype: TYPE_FP32 }', 1, 'input[0].datatype', /did you mean data_type\?/],
    ['output { optional: true }', 1, 'output[0].optional', /no such field/],
    ['instance_group { gpu: 1 }', 1, 'instance_group[0].gpu', /did you mean gpus\?/],
    ['version_policy { newest { } }', 1, 'version_policy.newest', /no such field/],
    ['dynamic_batching { max_delay: 1 }', 1, 'dynamic_batching.max_delay', /no such field/],
    ['__proto__ { }', 1, '__proto__', /no such field/],
    ['constructor: 1', 1, 'constructor', /no such field/],
    // Strings
    ['name: mlp', 1, 'name', /expected a string, found mlp; put it in quotes/],
    ['name: 5', 1, 'name', /expected a string, found 5/],
    ['name: true', 1, 'name', /expected a string, found true/],
    ['name: "\\xff"', 1, 'name', /not valid UTF-8/],
    ['name { }', 1, 'name', /takes a single value, not a block/],
    ['name: [ "a" ]', 1, 'name', /takes one value, not a list/],
    ['name: "a" name: "b"', 1, 'name', /is given twice/],
    ['name: "a"\nname: "a"', 2, 'name', /is given twice/],
    // Integers
    ['max_batch_size: "8"', 1, 'max_batch_size', /expected a whole number, found "8"/],
    ['max_batch_size: 8.0', 1, 'max_batch_size', /expected a whole number, found 8\.0/],
    ['max_batch_size: 1e3', 1, 'max_batch_size', /expected a whole number/],
    ['max_batch_size: 8f', 1, 'max_batch_size', /expected a whole number/],
    ['max_batch_size: eight', 1, 'max_batch_size', /expected a whole number, found eight/],
    ['max_batch_size: 089', 1, 'max_batch_size', /expected a whole number, found 089/],
    ['max_batch_size: true', 1, 'max_batch_size', /expected a whole number/],
    ['max_batch_size: 2147483648', 1, 'max_batch_size', /out of range; it must be from -2147483648 to 2147483647/],
    ['max_batch_size: -2147483649', 1, 'max_batch_size', /out of range/],
    ['max_batch_size: 0xFFFFFFFF', 1, 'max_batch_size', /out of range/],
    [`max_batch_size: ${'9'.repeat(500)}`, 1, 'max_batch_size', /^9{60}… is out of range/],
    ['max_batch_size { }', 1, 'max_batch_size', /takes a single value/],
    ['max_batch_size: [1]', 1, 'max_batch_size', /not a list/],
    ['version_policy { latest { num_versions: -1 } }', 1, 'version_policy.latest.num_versions', /from 0 to 4294967295/],
    ['version_policy { latest { num_versions: 4294967296 } }', 1, 'version_policy.latest.num_versions', /out of range/],
    ['input { dims: 9223372036854775808 }', 1, 'input[0].dims[0]', /out of range/],
    ['input { dims: -9223372036854775809 }', 1, 'input[0].dims[0]', /out of range/],
    ['input { dims: [1, "2", 3] }', 1, 'input[0].dims[1]', /expected a whole number, found "2"/],
    ['input { dims: [1,\n2.5] }', 2, 'input[0].dims[1]', /expected a whole number/],
    ['input { dims: [ { } ] }', 1, 'input[0].dims[0]', /takes a single value, not a block/],
    [
      'dynamic_batching { max_queue_delay_microseconds: -1 }',
      1,
      'dynamic_batching.max_queue_delay_microseconds',
      /from 0 to/,
    ],
    [
      'dynamic_batching { priority_levels: 18446744073709551616 }',
      1,
      'dynamic_batching.priority_levels',
      /out of range/,
    ],
    ['dynamic_batching { preferred_batch_size: [4, x] }', 1, 'dynamic_batching.preferred_batch_size[1]', /found x/],
    ['instance_group { count: "1" }', 1, 'instance_group[0].count', /expected a whole number/],
    ['instance_group [ { count: 1 }, { count: 1.5 } ]', 1, 'instance_group[1].count', /expected a whole number/],
    // Booleans
    ['response_cache { enable: yes }', 1, 'response_cache.enable', /expected true or false, found yes/],
    ['response_cache { enable: TRUE }', 1, 'response_cache.enable', /expected true or false/],
    ['response_cache { enable: 2 }', 1, 'response_cache.enable', /expected true or false, found 2/],
    ['response_cache { enable: -1 }', 1, 'response_cache.enable', /found -1/],
    ['response_cache { enable: "true" }', 1, 'response_cache.enable', /found "true"/],
    ['response_cache { enable: 1.0 }', 1, 'response_cache.enable', /expected true or false/],
    ['model_transaction_policy { decoupled: on }', 1, 'model_transaction_policy.decoupled', /found on/],
    // Floats
    ['sequence_batching { direct { minimum_slot_utilization: "0" } }', 1, undefined, /expected a number, found "0"/],
    ['sequence_batching { direct { minimum_slot_utilization: half } }', 1, undefined, /expected a decimal number/],
    ['sequence_batching { direct { minimum_slot_utilization: 0x1 } }', 1, undefined, /expected a decimal number/],
    ['sequence_batching { direct { minimum_slot_utilization: 017 } }', 1, undefined, /expected a decimal number/],
    // Enumerations
    ['input { data_type: TYPE_FLOAT }', 1, 'input[0].data_type', /TYPE_FLOAT is none of TYPE_INVALID, TYPE_BOOL/],
    ['input { data_type: TYPE_FP31 }', 1, 'input[0].data_type', /did you mean TYPE_FP(16|32)\?/],
    ['input { data_type: FP32 }', 1, 'input[0].data_type', /FP32 is none of/],
    ['input { data_type: "TYPE_FP32" }', 1, 'input[0].data_type', /write it without quotes/],
    ['input { data_type: type_fp32 }', 1, 'input[0].data_type', /did you mean TYPE_FP32\?/],
    ['input { data_type: 15 }', 1, 'input[0].data_type', /15 is none of/],
    ['input { data_type: -1 }', 1, 'input[0].data_type', /-1 is none of/],
    ['input { data_type: 1.5 }', 1, 'input[0].data_type', /1\.5 is none of/],
    ['input { data_type: { } }', 1, 'input[0].data_type', /not a block/],
    ['input { format: NHWC }', 1, 'input[0].format', /none of FORMAT_NONE, FORMAT_NHWC, FORMAT_NCHW/],
    ['instance_group { kind: CPU }', 1, 'instance_group[0].kind', /none of KIND_AUTO, KIND_GPU, KIND_CPU, KIND_MODEL/],
    ['instance_group { kind: KIND_CUP }', 1, 'instance_group[0].kind', /did you mean KIND_CPU\?/],
    ['optimization { priority: PRIORITY_HIGH }', 1, 'optimization.priority', /none of PRIORITY_DEFAULT/],
    [
      'dynamic_batching { default_queue_policy { timeout_action: WAIT } }',
      1,
      'dynamic_batching.default_queue_policy.timeout_action',
      /none of REJECT, DELAY/,
    ],
    ['batch_input { kind: BATCH }', 1, 'batch_input[0].kind', /is none of/],
    [
      'sequence_batching { control_input { control { kind: START } } }',
      1,
      'sequence_batching.control_input[0].control[0].kind',
      /is none of/,
    ],
    // Blocks and choices
    ['input: "a"', 1, 'input[0]', /is a block: write its fields between/],
    ['input: [ "a" ]', 1, 'input[0]', /is a block/],
    ['dynamic_batching: true', 1, 'dynamic_batching', /is a block/],
    ['dynamic_batching: [ ]', 1, 'dynamic_batching', /not a list/],
    ['dynamic_batching { } dynamic_batching { }', 1, 'dynamic_batching', /is given twice/],
    ['dynamic_batching { }\nsequence_batching { }', 2, 'sequence_batching', /cannot stand beside dynamic_batching/],
    [
      'sequence_batching { }\nensemble_scheduling { }',
      2,
      'ensemble_scheduling',
      /cannot stand beside sequence_batching/,
    ],
    ['version_policy { all { } latest { } }', 1, 'version_policy.latest', /cannot stand beside all/],
    ['version_policy { all: true }', 1, 'version_policy.all', /is a block/],
    ['version_policy { all { x: 1 } }', 1, 'version_policy.all.x', /no such field/],
    ['version_policy: "latest"', 1, 'version_policy', /is a block/],
    ['sequence_batching { oldest { } direct { } }', 1, 'sequence_batching.direct', /cannot stand beside oldest/],
    [
      'model_warmup { inputs { key: "a" value { zero_data: true random_data: true } } }',
      1,
      'model_warmup[0].inputs["a"].value.random_data',
      /cannot stand beside zero_data/,
    ],
    ['model_warmup { count: -1 }', 1, 'model_warmup[0].count', /out of range/],
    [
      'ensemble_scheduling { step { model_version: "1" } }',
      1,
      'ensemble_scheduling.step[0].model_version',
      /expected a whole number/,
    ],
    ['optimization { cuda { graphs: maybe } }', 1, 'optimization.cuda.graphs', /true or false/],
    [
      'optimization { execution_accelerators { cpu_execution_accelerator { nam: "x" } } }',
      1,
      'optimization.execution_accelerators.cpu_execution_accelerator[0].nam',
      /did you mean name\?/,
    ],
    [
      'instance_group { rate_limiter { resources { count: -4 } } }',
      1,
      'instance_group[0].rate_limiter.resources[0].count',
      /out of range/,
    ],
    [
      'instance_group { secondary_devices { kind: KIND_GPU } }',
      1,
      'instance_group[0].secondary_devices[0].kind',
      /none of KIND_NVDLA/,
    ],
    [
      'model_metrics { metric_control { metric_identifier { familiy: "x" } } }',
      1,
      'model_metrics.metric_control[0].metric_identifier.familiy',
      /did you mean family\?/,
    ],
    // Maps
    ['parameters: "a"', 1, 'parameters', /is a map: write \{ key: … value: … \}/],
    ['parameters { value { string_value: "a" } }', 1, 'parameters', /without a key/],
    ['parameters { key: 5 value { } }', 1, 'parameters.key', /expected a string, found 5/],
    ['parameters { key: "a" key: "b" }', 1, 'parameters.key', /is given twice/],
    ['parameters { key: "a" vlaue { } }', 1, 'parameters.vlaue', /no such field/],
    ['parameters { key: "a" value: "b" }', 1, 'parameters["a"].value', /is a block/],
    ['parameters { key: "a" value { string: "b" } }', 1, 'parameters["a"].value.string', /no such field/],
    ['parameters { key: "a" value { string_value: 5 } }', 1, 'parameters["a"].value.string_value', /put it in quotes/],
    ['metric_tags { key: "a" value { } }', 1, 'metric_tags["a"].value', /not a block/],
    ['cc_model_filenames { key: "a" value: 7 }', 1, 'cc_model_filenames["a"].value', /expected a string/],
    [
      'dynamic_batching { priority_queue_policy { key: "1" value { } } }',
      1,
      'dynamic_batching.priority_queue_policy.key',
      /whole number/,
    ],
    // The text itself
    ['name: "a', 1, undefined, /^column 7: the string that begins here is not closed/],
    ['\ninput {', 2, undefined, /^column 7: the '\{' opened here is never closed/],
    ['name "a"', 1, undefined, /^column 6: expected ':'/],
    ['name: "a" }', 1, undefined, /^column 11: expected a field name/],
  ];

  test('there are more than a hundred of them', () => {
    expect(cases.length).toBeGreaterThan(100);
  });

  test.each(cases)('%j', (text, line, field, message) => {
    const { problems } = read(text).findings;
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toMatch(message);
    expect(problems[0]?.line).toBe(line);
    if (field !== undefined) expect(problems[0]?.field).toBe(field);
    expect(problems[0]?.source).toBe('config.pbtxt');
  });
});

test('all problems are reported at once, also those before a syntax error', () => {
  const { findings } = read('max_batchsize: 8\ninput { dims: x }\nname: "a" name: "b"\noutput {');
  expect(findings.problems.map(({ line, field }) => [line, field])).toEqual([
    [4, undefined],
    [1, 'max_batchsize'],
    [2, 'input[0].dims[0]'],
    [3, 'name'],
  ]);
});

test('an element that cannot be read does not change the numbers of those after it', () => {
  const { config, findings } = read('input { dims: [ x, 2, y ] }');
  expect(findings.problems.map(({ field }) => field)).toEqual(['input[0].dims[0]', 'input[0].dims[2]']);
  expect(config.input?.[0]?.dims).toEqual([2]);
});

test('after a hundred problems the message says that there are more', () => {
  const { findings } = read('x: 1\n'.repeat(500));
  expect(findings.problems).toHaveLength(problemsMax + 1);
  expect(findings.problems.at(-1)?.message).toMatch(/more than 100; the others are not shown/);
});

test('a map key given twice is a warning, and the last value counts', () => {
  const { config, findings } = read('metric_tags { key: "a" value: "1" }\nmetric_tags { key: "a" value: "2" }');
  expect(config.metric_tags).toEqual({ a: '2' });
  expect(findings.problems).toEqual([]);
  expect(findings.warnings[0]?.message).toMatch(/given twice; the last one counts/);
});

test('a key named like a built-in property is a key like any other', () => {
  const { config } = read('metric_tags { key: "__proto__" value: "1" }');
  expect(Object.getOwnPropertyDescriptor(config.metric_tags, '__proto__')?.value).toBe('1');
});

test('a file that is too large or not UTF-8 is refused with the reason', () => {
  const tooLarge = readModelConfig(new Uint8Array(configBytesMax + 1), 'c');
  expect(tooLarge.findings.problems[0]?.message).toMatch(/more than 1048576; is it really a configuration\?/);
  const atLimit = readModelConfig(Buffer.alloc(configBytesMax, ' '), 'c');
  expect(atLimit.findings.problems).toEqual([]);
  expect(readModelConfig(Uint8Array.of(0x61, 0xff), 'c').findings.problems[0]?.message).toMatch(/save it as UTF-8/);
});

test('the JSON form has every scalar, list and map, and messages and choices only when set', () => {
  const json = jsonFromModelConfig({
    name: 'm',
    version_policy: { latest: { num_versions: 1 } },
    input: [{ name: 'a', data_type: 'TYPE_FP32', dims: [2n ** 60n] }],
    dynamic_batching: {},
    model_warmup: [{ inputs: { a: { random_data: true } } }],
  });
  expect(json.model_warmup).toEqual([
    { name: '', batch_size: 0, count: 0, inputs: { a: { data_type: 'TYPE_INVALID', dims: [], random_data: true } } },
  ]);
  expect(json).toMatchObject({
    name: 'm',
    platform: '',
    max_batch_size: 0,
    version_policy: { latest: { num_versions: 1 } },
    input: [
      {
        name: 'a',
        data_type: 'TYPE_FP32',
        format: 'FORMAT_NONE',
        dims: [2n ** 60n],
        is_shape_tensor: false,
        allow_ragged_batch: false,
        optional: false,
      },
    ],
    output: [],
    batch_input: [],
    instance_group: [],
    parameters: {},
    metric_tags: {},
    dynamic_batching: { preferred_batch_size: [], max_queue_delay_microseconds: 0, preserve_ordering: false },
  });
  for (const absent of ['optimization', 'sequence_batching', 'response_cache', 'model_operations']) {
    expect(json).not.toHaveProperty(absent);
  }
  expect(Object.keys(json.version_policy as object)).toEqual(['latest']);
});

test('any text gives problems or a configuration and never throws', () => {
  const fragments = fc.constantFrom(
    ...['name', 'input', 'dims', 'parameters', 'key', 'value', 'data_type', 'TYPE_FP32', 'dynamic_batching', 'all'],
    ...['version_policy', 'latest', '{', '}', '[', ']', ':', ':', ',', '-', '"a"', '1', '0.5', 'true', '\n'],
  );
  fc.assert(
    fc.property(fc.array(fragments, { maxLength: 40 }), (all) => {
      const { config, findings } = read(all.join(' '));
      for (const { source, message } of findings.problems)
        expect([source, message.length > 0]).toEqual(['config.pbtxt', true]);
      expect(() => JSON.stringify(jsonFromModelConfig(config))).not.toThrow();
    }),
    { seed: 3, numRuns: 3000 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      readModelConfig(bytes, 'config.pbtxt');
    }),
    { seed: 4, numRuns: 1000 },
  );
});
