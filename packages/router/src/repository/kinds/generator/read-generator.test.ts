import { modelBytes, tensorInfo } from '@millrace/onnx/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scanRepository } from '../../repository.ts';
import { TestRepository } from '../../testing/test-repository.ts';

let repository: TestRepository;
beforeEach(async () => {
  repository = await TestRepository.create();
});
afterEach(() => repository.remove());

const cacheShape = ['batch', 2, 'past', 4];
const caches = ['key', 'value'];
const decoder = modelBytes({
  inputs: [
    tensorInfo('input_ids', 7, ['batch', 'tokens']),
    ...caches.map((part) => tensorInfo(`past_key_values.0.${part}`, 1, cacheShape)),
  ],
  outputs: [
    tensorInfo('logits', 1, ['batch', 'tokens', 32]),
    ...caches.map((part) => tensorInfo(`present.0.${part}`, 1, cacheShape)),
  ],
});

async function scanWith(files: Readonly<Record<string, string | Uint8Array>>) {
  for (const [path, content] of Object.entries(files)) await repository.write(`g/${path}`, content);
  const { models, failures } = await scanRepository([repository.path], {});
  return { generator: models[0], problems: failures.flatMap(({ problems }) => problems) };
}

const folder = { '1/model.onnx': decoder, '1/tokenizer.json': '{}' };

test('a decoder with its tokenizer is a generator without any configuration', async () => {
  const { generator, problems } = await scanWith(folder);
  expect(problems).toEqual([]);
  expect(generator).toMatchObject({ engine: 'generator', lane: 'generator', instanceCount: 1 });
  expect(generator?.versions[0]).toMatchObject({
    path: `${repository.path}/g/1/model.onnx`,
    concurrent: { concurrency: 256, isDecoupled: true, cacheBytesMax: 256 * 2 ** 20 },
    policy: { isConcurrent: true, rowsMax: 1 },
    view: {
      platform: 'millrace_generator',
      isBatched: false,
      isDecoupled: true,
      isResumable: true,
      isGenerator: true,
      config: {
        backend: 'generator',
        model_transaction_policy: { decoupled: true },
        input: [{ name: 'text_input' }, { name: 'sampling_parameters', optional: true }],
      },
    },
  });
  expect(generator?.versions[0]?.view.outputs.map(({ name, datatype }) => `${name} ${datatype}`)).toEqual([
    'text_output BYTES',
    'token INT64',
    'finish_reason BYTES',
    'prompt_tokens INT32',
    'output_tokens INT32',
  ]);
});

test('settings of a generator are read from its configuration', async () => {
  const parameter = (key: string, value: number) => `parameters { key: "${key}" value { string_value: "${value}" } }`;
  const { generator } = await scanWith({
    ...folder,
    'config.pbtxt': `${parameter('millrace.concurrency', 4)} ${parameter('millrace.generator_cache_bytes_max', 65_536)}`,
  });
  expect(generator?.versions[0]?.concurrent).toEqual({ concurrency: 4, isDecoupled: true, cacheBytesMax: 65_536 });
});

test('callers have a share of the runs of a generator, or the number that its configuration names', async () => {
  const named = 'parameters { key: "millrace.caller_concurrency_max" value { string_value: "256" } }';
  expect((await scanWith(folder)).generator?.versions[0]?.policy.callerRunsMax).toBe('share');
  const { generator } = await scanWith({ ...folder, 'config.pbtxt': named });
  expect(generator?.versions[0]?.policy.callerRunsMax).toBe(256);
});

test('texts that nobody reads give way after ten seconds, or the time that its configuration names', async () => {
  const unread = (ms: number) => `parameters { key: "millrace.unread_ms_max" value { string_value: "${ms}" } }`;
  const read = async (files: object) =>
    (await scanWith({ ...folder, ...files })).generator?.versions[0]?.policy.unreadMsMax;
  expect(await read({})).toBe(10_000);
  expect(await read({ 'config.pbtxt': unread(500) })).toBe(500);
  expect(await read({ 'config.pbtxt': unread(0) })).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ['a graph without a tokenizer', { '1/model.onnx': decoder }],
  ['a graph that is no decoder', { '1/model.onnx': modelBytes(), '1/tokenizer.json': '{}' }],
  ['a decoder whose configuration declares its tensors', { ...folder, 'config.pbtxt': 'backend: "onnxruntime"' }],
])('%s stays an ONNX model', async (_, files) => {
  expect((await scanWith(files)).generator?.engine).toBe('onnxruntime');
});

test.each([
  ['max_batch_size: 4', 'max_batch_size', /one text/],
  ['input { name: "text_input" data_type: TYPE_STRING dims: 1 }', 'input', /the server sets/],
  ['model_transaction_policy { decoupled: false }', 'model_transaction_policy.decoupled', /token by token/],
  ['response_cache { enable: true }', 'response_cache.enable', /not cached/],
  ['sequence_batching { }', 'sequence_batching', /no state/],
  [
    'parameters { key: "millrace.batch" value { string_value: "never" } }',
    'parameters["millrace.batch"]',
    /does not apply to a generator/,
  ],
])('%s is refused for a generator', async (config, field, message) => {
  const { problems } = await scanWith({ ...folder, 'config.pbtxt': `backend: "generator"\n${config}` });
  expect(problems.find((problem) => problem.field === field)?.message).toMatch(message);
});

test.each([
  ['no tokenizer', { '1/model.onnx': decoder }, /tokenizer.json is missing/],
  ['another graph', { '1/model.onnx': modelBytes(), '1/tokenizer.json': '{}' }, /there is no input input_ids/],
  ['a broken config.json', { ...folder, '1/config.json': '{' }, /config.json: is not JSON/],
  ['no graph', { '1/tokenizer.json': '{}' }, /model.onnx|not found|no such/i],
])('a folder that is said to be a generator and has %s is refused', async (_, files, message) => {
  const { generator, problems } = await scanWith({ ...files, 'config.pbtxt': 'backend: "generator"' });
  expect(generator).toBeUndefined();
  expect(JSON.stringify(problems)).toMatch(message);
});

const encoder = modelBytes({
  inputs: [tensorInfo('input_ids', 7, ['batch', 'tokens']), tensorInfo('token_type_ids', 7, ['batch', 'tokens'])],
  outputs: [tensorInfo('logits', 1, ['batch', 2])],
});
const withoutCache = modelBytes({
  inputs: [tensorInfo('input_ids', 7, ['batch', 'tokens'])],
  outputs: [tensorInfo('logits', 1, ['batch', 'tokens', 32])],
});
const fixedBatch = modelBytes({
  inputs: [
    tensorInfo('input_ids', 7, [4, 'tokens']),
    ...caches.map((part) => tensorInfo(`past_key_values.0.${part}`, 1, cacheShape)),
  ],
  outputs: [
    tensorInfo('logits', 1, ['batch', 'tokens', 32]),
    ...caches.map((part) => tensorInfo(`present.0.${part}`, 1, cacheShape)),
  ],
});

test.each([
  ['config.json', { '1/config.json': '{"n_head": 2' }, /cannot generate text: config\.json: is not JSON/],
  ['generation_config.json', { '1/generation_config.json': '' }, /generation_config\.json: is not JSON/],
  ['a value', { '1/generation_config.json': '{"temperature": "hot"}' }, /temperature is 'hot'; send a number/],
  ['an end token', { '1/generation_config.json': '{"eos_token_id": 32}' }, /eos_token_id is 32, and .* has 32 tokens/],
  ['the batch size', { '1/model.onnx': fixedBatch }, /model\.onnx: input input_ids has the fixed batch size 4/],
  ['a folder in place of a file', { '1/config.json/x': '' }, /config\.json: /],
])(
  'a decoder is no plain graph because %s is wrong: it is refused, with the way to serve its tensors',
  async (_, files, message) => {
    const { generator, problems } = await scanWith({ ...folder, ...files });
    expect(generator).toBeUndefined();
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toMatch(message);
    expect(problems[0]?.message).toMatch(/to serve the tensors of the graph instead, set backend: "onnxruntime"/);
  },
);

test('a graph that is no decoder is served as it is, whatever the files beside it are like', async () => {
  const { generator } = await scanWith({ ...folder, '1/model.onnx': encoder, '1/config.json': '{' });
  expect(generator?.engine).toBe('onnxruntime');
});

test('a decoder without a cache needs no file but its tokenizer if the configuration says what it is', async () => {
  const files = { ...folder, '1/model.onnx': withoutCache };
  expect((await scanWith(files)).generator?.engine).toBe('onnxruntime');
  expect((await scanWith({ ...files, 'config.pbtxt': 'backend: "generator"' })).generator?.engine).toBe('generator');
});

test('the cache of generators is refused for other kinds', async () => {
  const config =
    'backend: "onnxruntime" parameters { key: "millrace.generator_cache_bytes_max" value { string_value: "65536" } }';
  const { problems } = await scanWith({ '1/model.onnx': modelBytes(), 'config.pbtxt': config });
  expect(problems[0]?.message).toMatch(/only generators have such a cache/);
});
