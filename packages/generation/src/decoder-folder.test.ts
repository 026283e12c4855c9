import type { Datatype } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { DecoderFiles } from './decoder-files.ts';
import { type DecoderDescription, describeDecoder, type GraphTensor, type NotDecoder } from './decoder-folder.ts';

function tensor(name: string, datatype: Datatype | undefined, ...shape: (number | string)[]): GraphTensor {
  return { name, datatype, shape };
}

interface CacheForm {
  readonly layers?: number;
  readonly heads?: number | string;
  readonly size?: number | string;
  readonly datatype?: Datatype;
  readonly past?: string;
  readonly present?: string;
}

const ids = tensor('input_ids', 'INT64', 'batch', 'sequence');
const mask = tensor('attention_mask', 'INT64', 'batch', 'total');
const positions = tensor('position_ids', 'INT64', 'batch', 'sequence');
const logits = tensor('logits', 'FP32', 'batch', 'sequence', 2048);

/** A graph with a cache, in the names of an exporter. `#` stands for the number of the layer. */
function cached(form: CacheForm = {}): { inputs: GraphTensor[]; outputs: GraphTensor[] } {
  const {
    layers = 2,
    heads = 6,
    size = 32,
    datatype = 'FP32',
    past = 'past_key_values.#',
    present = 'present.#',
  } = form;
  const tensors = (prefix: string, length: string): GraphTensor[] =>
    Array.from({ length: layers }, (_, layer) =>
      ['key', 'value'].map((part) =>
        tensor(`${prefix.replace('#', String(layer))}.${part}`, datatype, 'batch', heads, length, size),
      ),
    ).flat();
  return { inputs: [ids, mask, positions, ...tensors(past, 'past')], outputs: [logits, ...tensors(present, 'total')] };
}

const plainFiles: DecoderFiles = { 'tokenizer.json': '{}' };

function described(
  graph: { inputs: readonly GraphTensor[]; outputs: readonly GraphTensor[] },
  files: DecoderFiles = plainFiles,
): DecoderDescription {
  const description = describeDecoder({ ...graph, files });
  if (description.kind !== 'decoder') throw new Error(description.reason);
  return description;
}

function reasonOf(
  graph: { inputs: readonly GraphTensor[]; outputs: readonly GraphTensor[] },
  files: DecoderFiles = plainFiles,
): string {
  return (describeDecoder({ ...graph, files }) as NotDecoder).reason;
}

test('a decoder with a cache, as the storyteller is one', () => {
  expect(described(cached())).toEqual({
    kind: 'decoder',
    inputIds: { name: 'input_ids', datatype: 'INT64' },
    attentionMask: { name: 'attention_mask', datatype: 'INT64' },
    positionIds: { name: 'position_ids', datatype: 'INT64' },
    useCacheBranch: undefined,
    sequenceLengths: undefined,
    totalSequenceLength: undefined,
    logitsToKeep: undefined,
    logits: { name: 'logits', datatype: 'FP32', positions: 'all' },
    cache: {
      layers: [0, 1].map((layer) => ({
        pastKey: `past_key_values.${layer}.key`,
        pastValue: `past_key_values.${layer}.value`,
        presentKey: `present.${layer}.key`,
        presentValue: `present.${layer}.value`,
      })),
      heads: 6,
      headSize: 32,
      datatype: 'FP32',
    },
    vocabularySize: 2048,
    sizes: { isSingleRow: false, isSingleToken: false },
    contextTokensMax: undefined,
    defaults: expect.objectContaining({ temperature: 1, eosTokenIds: [] }),
  });
});

test.each([
  ['past_key_values.#', 'present_key_values.#'],
  ['past_key_values.#.decoder', 'present.#.decoder'],
])('the names %s and %s are known too', (past, present) => {
  const { cache } = described(cached({ past, present, layers: 12 }));
  expect(cache?.layers[11]).toEqual({
    pastKey: `${past.replace('#', '11')}.key`,
    pastValue: `${past.replace('#', '11')}.value`,
    presentKey: `${present.replace('#', '11')}.key`,
    presentValue: `${present.replace('#', '11')}.value`,
  });
});

test('merged exports and exports for group query attention have further inputs', () => {
  const { inputs, outputs } = cached({ heads: 2, datatype: 'FP16' });
  const more = [
    tensor('use_cache_branch', 'BOOL', 1),
    tensor('seqlens_k', 'INT32', 'batch'),
    tensor('total_sequence_length', 'INT32'),
    tensor('num_logits_to_keep', 'INT64'),
  ];
  expect(described({ inputs: [...inputs, ...more], outputs })).toMatchObject({
    useCacheBranch: { name: 'use_cache_branch', datatype: 'BOOL' },
    sequenceLengths: { name: 'seqlens_k', datatype: 'INT32' },
    totalSequenceLength: { name: 'total_sequence_length', datatype: 'INT32' },
    logitsToKeep: { name: 'num_logits_to_keep', datatype: 'INT64' },
    cache: { heads: 2, datatype: 'FP16' },
  });
});

test('without mask and positions; with logits of the last position only', () => {
  const { inputs, outputs } = cached();
  const lean = inputs.filter((input) => input !== mask && input !== positions);
  const last = [tensor('logits', 'FP16', 'batch', 1, 2048), ...outputs.slice(1)];
  expect(described({ inputs: lean, outputs: last })).toMatchObject({
    attentionMask: undefined,
    positionIds: undefined,
    logits: { datatype: 'FP16', positions: 'last' },
  });
  const flat = [tensor('logits', 'FP32', 'batch', 2048), ...outputs.slice(1)];
  expect(described({ inputs, outputs: flat })).toMatchObject({ logits: { positions: 'last' }, vocabularySize: 2048 });
});

test('config.json has what the graph leaves free', () => {
  const { inputs, outputs } = cached({ heads: 'heads', size: 'size' });
  const free = [tensor('logits', 'FP32', 'batch', 'sequence', 'vocabulary'), ...outputs.slice(1)];
  const config = {
    hidden_size: 512,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    vocab_size: 500,
    max_position_embeddings: 4096,
  };
  const files = { ...plainFiles, 'config.json': JSON.stringify(config) };
  expect(described({ inputs, outputs: free }, files)).toMatchObject({
    cache: { heads: 2, headSize: 64 },
    vocabularySize: 500,
    contextTokensMax: 4096,
  });
  const nested = { ...plainFiles, 'config.json': JSON.stringify({ text_config: { ...config, head_dim: 96 } }) };
  expect(described({ inputs, outputs: free }, nested)).toMatchObject({ cache: { heads: 2, headSize: 96 } });
});

test('a decoder whose sizes no file has is refused by the name of the file, and is no plain graph', () => {
  const reasonWith =
    (form: CacheForm, files: DecoderFiles = plainFiles) =>
    () =>
      reasonOf(cached(form), files);
  expect(reasonWith({ heads: 'heads' })).toThrow(
    'config.json: is missing or does not have the number of heads of the cache, which the graph leaves open',
  );
  expect(reasonWith({ size: 'size' })).toThrow('config.json: is missing or does not have the head size of the cache');
  const { inputs, outputs } = cached();
  const free = [tensor('logits', 'FP32', 'batch', 'sequence', 'vocabulary'), ...outputs.slice(1)];
  expect(() => reasonOf({ inputs, outputs: free })).toThrow('config.json: is missing or does not have the vocabulary');
  expect(reasonOf({ inputs: [ids, mask], outputs: [...free] }, { ...plainFiles, 'generation_config.json': '{}' })).toBe(
    'neither the output logits nor config.json has the vocabulary size',
  );
  expect(reasonWith({ size: 'size' }, { ...plainFiles, 'genai_config.json': '{}' })).toThrow(
    'genai_config.json: is missing or does not have the head size of the cache',
  );
});

const genai = {
  model: {
    bos_token_id: 0,
    context_length: 4096,
    decoder: { head_size: 96, hidden_size: 512, num_attention_heads: 8, num_key_value_heads: 2 },
    eos_token_id: [3, 4],
    pad_token_id: 4,
    vocab_size: 2048,
  },
  search: { do_sample: true, max_length: 4096, temperature: 0.6, top_k: 50, top_p: 0.9, repetition_penalty: 1.1 },
};

test('genai_config.json stands for config.json and generation_config.json', () => {
  const graph = cached({ size: 'kv_cache_dim' });
  const files = { ...plainFiles, 'genai_config.json': JSON.stringify(genai) };
  expect(described(graph, files)).toMatchObject({
    cache: { heads: 6, headSize: 96 },
    contextTokensMax: 4096,
    defaults: {
      ...{ temperature: 0.6, topK: 50, topP: 0.9, repetitionPenalty: 1.1, maxTokens: undefined },
      ...{ eosTokenIds: [3, 4], bosTokenId: 0, padTokenId: 4 },
    },
  });
  const greedy = { ...genai, search: { ...genai.search, do_sample: false } };
  expect(described(graph, { ...plainFiles, 'genai_config.json': JSON.stringify(greedy) }).defaults.temperature).toBe(0);
  const own = { 'config.json': '{"head_dim": 64}', 'generation_config.json': '{"eos_token_id": 5}' };
  expect(described(graph, { ...files, ...own })).toMatchObject({
    cache: { headSize: 64 },
    contextTokensMax: undefined,
    defaults: { eosTokenIds: [5], temperature: 1 },
  });
  // It says that the graph generates text.
  const withoutCache = { inputs: [ids, mask], outputs: [logits] };
  expect(described(withoutCache, files).cache).toBeUndefined();
});

test('a value in genai_config.json that is wrong is reported with its file', () => {
  const thrown = (changed: object) => () =>
    reasonOf(cached(), { ...plainFiles, 'genai_config.json': JSON.stringify(changed) });
  expect(thrown({ ...genai, search: { temperature: 'hot' } })).toThrow('genai_config.json: temperature is');
  expect(thrown({ model: { ...genai.model, eos_token_id: 5000 } })).toThrow('genai_config.json: eos_token_id is 5000');
  expect(() => reasonOf(cached(), { ...plainFiles, 'genai_config.json': '[' })).toThrow(
    'genai_config.json: is not JSON',
  );
});

test('the context length may be that of the tokenizer, unless it has none', () => {
  const withMax = (model_max_length: number): DecoderFiles => ({
    ...plainFiles,
    'tokenizer_config.json': JSON.stringify({ model_max_length }),
  });
  expect(described(cached(), withMax(450)).contextTokensMax).toBe(450);
  expect(described(cached(), withMax(1e30)).contextTokensMax).toBeUndefined();
});

test('end-of-text tokens by id from generation_config.json, otherwise by their text', () => {
  const graph = cached();
  const tokenizerConfig = JSON.stringify({ eos_token: { content: '<|end|>' }, bos_token: '<s>', pad_token: '<none>' });
  const files = { ...plainFiles, 'tokenizer_config.json': tokenizerConfig };
  const takeId = (token: string): number | undefined =>
    new Map([
      ['<|end|>', 9],
      ['<s>', 1],
    ]).get(token);
  expect(describeDecoder({ ...graph, files }, takeId)).toMatchObject({
    defaults: { eosTokenIds: [9], bosTokenId: 1, padTokenId: undefined },
  });
  const stated = { ...files, 'generation_config.json': '{"eos_token_id": [3, 4], "temperature": 0.5}' };
  expect(describeDecoder({ ...graph, files: stated }, takeId)).toMatchObject({
    defaults: { eosTokenIds: [3, 4], bosTokenId: 1, temperature: 0.5 },
  });
});

test('a graph without a cache is a decoder if a file says that it generates text', () => {
  const graph = { inputs: [ids, mask], outputs: [logits] };
  const causal = { ...plainFiles, 'config.json': '{"architectures": ["GPT2LMHeadModel"]}' };
  expect(described(graph, causal).cache).toBeUndefined();
  expect(described(graph, { ...plainFiles, 'generation_config.json': '{}' }).cache).toBeUndefined();
  const masked = { ...plainFiles, 'config.json': '{"architectures": ["DistilBertForMaskedLM"]}' };
  expect(reasonOf(graph, masked)).toContain('config.json does not say that it generates text');
  expect(describeDecoder({ ...graph, files: plainFiles, isDeclared: true }).kind).toBe('decoder');
});

const { inputs, outputs } = cached();
test.each<[string, { inputs: GraphTensor[]; outputs: GraphTensor[] }, string]>([
  ['no input_ids', { inputs: inputs.slice(1), outputs }, 'there is no input input_ids'],
  ['no logits', { inputs, outputs: outputs.slice(1) }, 'there is no output logits'],
  [
    'ids that are no integers',
    { inputs: [tensor('input_ids', 'FP32', 1, 2), ...inputs.slice(1)], outputs },
    'input input_ids is FP32; expected is INT64 or INT32',
  ],
  [
    'positions of three kinds',
    { inputs: [ids, tensor('position_ids', 'INT64', 3, 'batch', 'sequence'), ...inputs.slice(3)], outputs },
    'input position_ids has 3 dimensions',
  ],
  [
    'an encoder before it',
    { inputs: [...inputs, tensor('encoder_hidden_states', 'FP32')], outputs },
    'reads the output of an encoder',
  ],
  ['embeddings', { inputs: [tensor('inputs_embeds', 'FP32')], outputs }, 'reads embeddings instead of token ids'],
  [
    'an encoder',
    { inputs: [ids, mask, tensor('token_type_ids', 'INT64')], outputs: [logits] },
    'as encoders such as BERT do',
  ],
  [
    'an input for something else',
    { inputs: [...inputs, tensor('style', 'FP32')], outputs },
    'input style has no purpose that is known',
  ],
  [
    'a cache of an encoder',
    cached({ past: 'past_key_values.#.encoder' }),
    'past_key_values.0.encoder.key belongs to an encoder',
  ],
  [
    'a layer without values',
    { inputs: inputs.filter(({ name }) => name !== 'past_key_values.1.value'), outputs },
    'input 1.value of the cache is missing: there are 2 layers',
  ],
  [
    'a layer that is not given out',
    { inputs, outputs: outputs.slice(0, -1) },
    'output 1.value of the cache is missing',
  ],
  [
    'one part twice',
    { inputs: [...inputs, tensor('past_key_values.01.key', 'FP32', 1, 6, 0, 32)], outputs },
    'are the same part of the cache',
  ],
  [
    'a cache by other names',
    { inputs: [ids, tensor('past_0', 'FP32', 2, 1, 6, 'past', 32)], outputs },
    'input past_0: its name is not of the form',
  ],
  [
    'a cache of three dimensions',
    {
      inputs: [ids, ...['key', 'value'].map((part) => tensor(`past_key_values.0.${part}`, 'FP32', 'rows', 'past', 32))],
      outputs,
    },
    'has the shape [rows, past, 32]',
  ],
  ['a cache of bytes', cached({ datatype: 'INT8' }), 'the cache is INT8; expected is FP32 or FP16'],
  [
    'labels instead of a vocabulary',
    { inputs, outputs: [tensor('logits', 'FP32', 2), ...outputs.slice(1)] },
    'output logits has the shape [2]',
  ],
  [
    'logits of doubles',
    { inputs, outputs: [tensor('logits', 'FP64', 1, 1, 9), ...outputs.slice(1)] },
    'output logits is FP64',
  ],
  [
    'layers that differ',
    { inputs: [...inputs.slice(0, -1), tensor('past_key_values.1.value', 'FP32', 'batch', 6, 'past', 64)], outputs },
    'the head size of the cache differs between its tensors (32, 64)',
  ],
])('%s is no decoder', (_, graph, reason) => {
  expect(reasonOf(graph)).toContain(reason);
});

test('a folder without a tokenizer is no decoder, and a broken file is an error', () => {
  expect(reasonOf(cached(), {})).toBe('tokenizer.json is missing');
  expect(() => reasonOf(cached(), { ...plainFiles, 'config.json': '[' })).toThrow('config.json: is not JSON');
});

test('a broken file beside a graph that is no decoder does not matter', () => {
  const broken = { ...plainFiles, 'config.json': '[' };
  const classes = tensor('logits', 'FP32', 'batch', 2);
  expect(reasonOf({ inputs: [ids, mask], outputs: [classes] }, broken)).toContain('it has no cache');
  expect(reasonOf({ inputs: [...inputs, tensor('style', 'FP32')], outputs }, broken)).toContain('input style');
  // Only config.json could tell whether it generates text.
  expect(() => reasonOf({ inputs: [ids, mask], outputs: [logits] }, broken)).toThrow('config.json: is not JSON');
});
