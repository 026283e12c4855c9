import { expect, test } from 'vitest';
import { readGenerationConfig } from './generation-config.ts';

test('an empty file gives plain sampling and no tokens', () => {
  expect(readGenerationConfig({})).toEqual({
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    maxTokens: undefined,
    eosTokenIds: [],
    bosTokenId: undefined,
    padTokenId: undefined,
  });
});

test('reads what makers of models recommend', () => {
  const file = {
    do_sample: true,
    temperature: 0.6,
    top_k: 20,
    top_p: 0.95,
    min_p: 0.02,
    repetition_penalty: 1.05,
    max_new_tokens: 2048,
    bos_token_id: 1,
    eos_token_id: [2, 32000],
    pad_token_id: 0,
    transformers_version: '4.51.0',
  };
  const recommended = {
    temperature: 0.6,
    topK: 20,
    topP: 0.95,
    minP: 0.02,
    repetitionPenalty: 1.05,
    maxTokens: 2048,
    eosTokenIds: [2, 32000],
    bosTokenId: 1,
    padTokenId: 0,
  };
  expect(readGenerationConfig(file)).toEqual(recommended);
  // Each of them differs from what an empty file gives, so that none can be left unread.
  const plain = readGenerationConfig({});
  const names = Object.keys(plain) as (keyof typeof plain)[];
  expect(names.filter((name) => recommended[name] === plain[name])).toEqual([]);
});

test('do_sample false is temperature 0', () => {
  expect(readGenerationConfig({ do_sample: false, temperature: 0.6 }).temperature).toBe(0);
});

test('config.json names tokens where generation_config.json does not', () => {
  const tokens = readGenerationConfig(
    { eos_token_id: 5, pad_token_id: null },
    { eos_token_id: 6, bos_token_id: 7, pad_token_id: 8 },
  );
  expect(tokens).toMatchObject({ eosTokenIds: [5], bosTokenId: 7, padTokenId: 8 });
});

test('a token before or beside a text may be -1 for none', () => {
  const tokens = readGenerationConfig({ bos_token_id: -1, pad_token_id: 3 }, { bos_token_id: 4, pad_token_id: 5 });
  expect(tokens).toMatchObject({ bosTokenId: undefined, padTokenId: 3 });
  expect(readGenerationConfig({ pad_token_id: 3 }, { pad_token_id: -1 }).padTokenId).toBe(3);
});

test.each([
  [{ temperature: -1 }, {}, 'generation_config.json: temperature is -1'],
  [{ top_p: '1' }, {}, "generation_config.json: top_p is '1'"],
  [{ eos_token_id: [1, 'x'] }, {}, "generation_config.json: eos_token_id is 'x'"],
  [{}, { eos_token_id: -1 }, 'config.json: eos_token_id is -1'],
])('%j and %j are refused by file and field', (generation, config, message) => {
  expect(() => readGenerationConfig(generation, config)).toThrow(message);
});
