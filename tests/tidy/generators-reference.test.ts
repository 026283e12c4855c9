/** Holds the table of parameters in docs/reference/generators.md to the code: names, ranges and defaults. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type GenerationParameters,
  generationParameterNames,
  type NumberRange,
  numberRanges,
  parseGenerationParameters,
  readGenerationConfig,
} from '@millrace/generation';
import { expect, test } from 'vitest';
import { root } from './source-files.ts';

const page = readFileSync(join(root, 'docs/reference/generators.md'), 'utf8');
const section = page.split('\n### Parameters\n')[1]?.split(/^##/m)[0] ?? '';
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.slice(1, -1).split('|'))
  .map((cells) => cells.map((cell) => cell.trim()))
  .map(([names = '', range = '', fallback = '', meaning = '']) => ({
    names: [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
    range,
    fallback,
    meaning,
  }));

function rowOf(name: string): (typeof rows)[number] | undefined {
  return rows.find(({ names }) => names.includes(name));
}

function rangeText({ least, most, isInteger, isLeastExcluded = false }: NumberRange): string {
  const limits = isLeastExcluded ? `above ${least}, at most ${most}` : `${least} to ${most}`;
  return isInteger ? `integer, ${limits}` : limits;
}

test('the page has a row with a meaning for every parameter, and no others', () => {
  expect(rows.flatMap(({ names }) => names)).toEqual(generationParameterNames);
  expect(rows.filter(({ meaning }) => meaning === '')).toEqual([]);
});

test.each(Object.entries(numberRanges))('the page has the range of %s', (name, range) => {
  expect(rowOf(name)?.range).toBe(rangeText(range));
});

const limits = { vocabularySize: 100, outputTokensMax: 10 };
const plain = readGenerationConfig({});

function read(given: Parameters<typeof parseGenerationParameters>[0], defaults = plain): GenerationParameters {
  return parseGenerationParameters(given, defaults, limits);
}

const fields = {
  temperature: 'temperature',
  top_k: 'topK',
  top_p: 'topP',
  min_p: 'minP',
  repetition_penalty: 'repetitionPenalty',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  min_tokens: 'minTokens',
  ignore_eos: 'ignoreEos',
} as const satisfies Record<string, keyof GenerationParameters>;

test.each(Object.entries(fields))('the page has the default of %s, and whether a model replaces it', (name, field) => {
  const recommended = readGenerationConfig({ [name]: 0.5, ...(name === 'top_k' && { top_k: 5 }) });
  const isOfModel = read({}, recommended)[field] !== read({})[field];
  expect(rowOf(name)?.fallback).toBe(`${read({})[field]}${isOfModel ? ', *model*' : ''}`);
});

test('the limits of other values are those that the page has', () => {
  const number = (name: string, pattern: RegExp) => Number(pattern.exec(rowOf(name)?.range ?? '')?.[1]);
  const seeds = /0 to (\d+), or a string of digits up to (\d+)/.exec(rowOf('seed')?.range ?? '') ?? [];
  const [, exact = '', most = ''] = seeds;
  expect(read({ seed: Number(exact) }).seed).toBe(BigInt(exact));
  expect(() => read({ seed: Number(exact) + 1 })).toThrow('seed');
  expect(read({ seed: most }).seed).toBe(BigInt(most));
  expect(() => read({ seed: String(BigInt(most) + 1n) })).toThrow('seed');
  const strings = number('stop', /at most (\d+), of/);
  const characters = number('stop', /at most (\d+) characters/);
  const stop = Array.from({ length: strings }, () => 'x'.repeat(characters));
  expect(read({ stop }).stop).toEqual(stop);
  expect(() => read({ stop: [...stop, 'x'] })).toThrow('stop');
  expect(() => read({ stop: 'x'.repeat(characters + 1) })).toThrow('stop');
  const bias = number('logit_bias', /to (\d+), also/);
  expect(read({ logit_bias: { 1: -bias } }).logitBias.get(1)).toBe(-bias);
  expect(() => read({ logit_bias: { 1: bias + 1 } })).toThrow('logit_bias');
  const entries = number('logit_bias', /at most (\d+) token/);
  const large = { vocabularySize: 2 * entries, outputTokensMax: 10 };
  const map = (size: number) => Object.fromEntries(Array.from({ length: size }, (_, id) => [id, 0]));
  expect(parseGenerationParameters({ logit_bias: map(entries) }, plain, large).logitBias.size).toBe(entries);
  expect(() => parseGenerationParameters({ logit_bias: map(entries + 1) }, plain, large)).toThrow('logit_bias');
});
