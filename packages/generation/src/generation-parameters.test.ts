import type { JsonObject } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { readGenerationConfig } from './generation-config.ts';
import {
  type GenerationParameters,
  generationParameterNames,
  parseGenerationParameters,
} from './generation-parameters.ts';

const limits = { vocabularySize: 100, outputTokensMax: 450 };

function parse(given: JsonObject, config = {}): GenerationParameters {
  return parseGenerationParameters(given, readGenerationConfig(config), limits);
}

function refusalOf(given: JsonObject): string {
  try {
    parse(given);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid-request' });
    return (error as Error).message;
  }
  return '';
}

test('nothing given: plain sampling, as many tokens as fit, no seed', () => {
  expect(parse({})).toEqual({
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    presencePenalty: 0,
    frequencyPenalty: 0,
    logitBias: new Map(),
    minTokens: 0,
    eosTokenIds: [],
    stop: [],
    seed: undefined,
    maxTokens: 450,
    ignoreEos: false,
  });
});

test('everything given', () => {
  const given = {
    temperature: 0.7,
    top_k: 40n,
    top_p: 0.9,
    min_p: 0.05,
    repetition_penalty: 1.1,
    presence_penalty: -2,
    frequency_penalty: 2,
    logit_bias: { 7: -100, 99: 1.5 },
    stop: ['\n', 'END'],
    seed: 7,
    max_tokens: 64,
    min_tokens: 64,
    ignore_eos: true,
  };
  expect(parse(given)).toEqual({
    temperature: 0.7,
    topK: 40,
    topP: 0.9,
    minP: 0.05,
    repetitionPenalty: 1.1,
    presencePenalty: -2,
    frequencyPenalty: 2,
    logitBias: new Map([
      [7, -100],
      [99, 1.5],
    ]),
    minTokens: 64,
    eosTokenIds: [],
    stop: ['\n', 'END'],
    seed: 7n,
    maxTokens: 64,
    ignoreEos: true,
  });
});

test('defaults are those of the model, and what is null is absent', () => {
  const config = { temperature: 0.6, top_k: 20, top_p: 0.95, max_new_tokens: 32, eos_token_id: [1, 2, 5000] };
  const parsed = parse({ temperature: null, top_k: -1, stop: null }, config);
  expect(parsed).toMatchObject({ temperature: 0.6, topK: 0, topP: 0.95, maxTokens: 32, eosTokenIds: [1, 2], stop: [] });
  expect(parse({}, { max_new_tokens: 1000 }).maxTokens).toBe(450);
});

test('the names of other clients for max_tokens mean the same', () => {
  expect(parse({ max_completion_tokens: 5 }).maxTokens).toBe(5);
  expect(parse({ max_new_tokens: 6, max_tokens: 6 }).maxTokens).toBe(6);
  expect(refusalOf({ max_new_tokens: 6, max_tokens: 7 })).toContain('are one parameter, and have different values');
});

test.each([
  [7, 7n],
  [Number.MAX_SAFE_INTEGER, 9007199254740991n],
  ['18446744073709551615', 18446744073709551615n],
  [2n ** 63n, 9223372036854775808n],
])('seed %s is %s', (seed, expected) => {
  expect(parse({ seed }).seed).toBe(expected);
});

test('a bias may be JSON text, and one stop string needs no list', () => {
  expect(parse({ logit_bias: '{"3": 2}', stop: '.' })).toMatchObject({ logitBias: new Map([[3, 2]]), stop: ['.'] });
});

test.each<[JsonObject, string]>([
  [{ temperature: -0.1 }, 'temperature is -0.1; send a number from 0 to 100'],
  [{ temperature: '0.7' }, "temperature is '0.7'; send a number from 0 to 100"],
  [{ temperature: Number.NaN }, 'temperature is NaN'],
  [{ top_k: 1.5 }, 'top_k is 1.5; send an integer from -1 to 2147483647'],
  [{ top_p: 0 }, 'top_p is 0; send a number above 0 and at most 1'],
  [{ top_p: true }, 'top_p is true'],
  [{ min_p: 1.01 }, 'min_p is 1.01; send a number from 0 to 1'],
  [{ repetition_penalty: 0 }, 'repetition_penalty is 0; send a number above 0'],
  [{ presence_penalty: 2.5 }, 'presence_penalty is 2.5; send a number from -2 to 2'],
  [{ frequency_penalty: [1] }, 'frequency_penalty is a list'],
  [{ logit_bias: { 7: 101 } }, 'logit_bias of token 7 is 101; send a number from -100 to 100'],
  [{ logit_bias: { 100: 1 } }, "logit_bias has the key '100'; keys are token ids from 0 to 99"],
  [{ logit_bias: { fox: 1 } }, "logit_bias has the key 'fox'"],
  [{ logit_bias: 'no' }, "logit_bias is 'no'; send a map of token ids to biases"],
  [{ logit_bias: [1] }, 'logit_bias is a list'],
  [
    { logit_bias: Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 0])) },
    'logit_bias has 1025 entries; send at most 1024',
  ],
  [{ stop: '' }, 'stop has an empty string'],
  [{ stop: ['a', 1] }, 'stop has 1; send a string or a list of strings'],
  [{ stop: Array.from({ length: 17 }, () => 'a') }, 'stop has 17 strings; send at most 16'],
  [{ stop: 'a'.repeat(257) }, 'stop has a string of 257 characters; send at most 256'],
  [{ stop: '\ud83d' }, 'which contains half a character'],
  [{ seed: -1 }, 'seed is -1; send an integer from 0 to 9007199254740991'],
  [{ seed: 2 ** 53 }, 'seed is 9007199254740992'],
  [{ seed: '18446744073709551616' }, 'seed is 18446744073709551616'],
  [{ seed: '0x7' }, "seed is '0x7'"],
  [{ max_tokens: 0 }, 'max_tokens is 0; send an integer from 1 to 450'],
  [{ max_tokens: 451 }, 'max_tokens is 451; send an integer from 1 to 450'],
  [{ max_tokens: 10, min_tokens: 11 }, 'min_tokens is 11; send an integer from 0 to 10'],
  [{ ignore_eos: 1 }, 'ignore_eos is 1; send true or false'],
])('%j is refused with its name, value and range', (given, expected) => {
  expect(refusalOf(given)).toContain(expected);
});

test('all problems are told at once', () => {
  const refusal = refusalOf({ temperature: -1, top_p: 2, seed: 1.5 });
  for (const name of ['temperature', 'top_p', 'seed']) expect(refusal).toContain(`${name} is`);
});

test('an unknown name is refused with the name that was probably meant and the list of all', () => {
  const refusal = refusalOf({ temprature: 1, topk: 2, zzzzzz: 3 });
  expect(refusal).toContain("'temprature' (did you mean temperature?), 'topk' (did you mean top_k?), 'zzzzzz'");
  for (const name of generationParameterNames) expect(refusal).toContain(name);
});

test('names of the object prototype are unknown like any other', () => {
  expect(refusalOf(JSON.parse('{"__proto__": 1, "constructor": 2}'))).toContain("'__proto__', 'constructor'");
});
