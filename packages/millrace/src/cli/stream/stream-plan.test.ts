import { parseGenerationParameters, readGenerationConfig } from '@millrace/generation';
import { ConfigError, formatConfigProblem } from '@millrace/protocol';
import { expect, test } from 'vitest';

import { parseArguments } from '../parse-arguments.ts';
import { type StreamCommandPlan, streamCommandPlanFrom } from './stream-plan.ts';
import { streamCommand } from './stream-spec.ts';

function planOf(...flags: readonly string[]): StreamCommandPlan {
  return streamCommandPlanFrom(parseArguments(streamCommand, ['story', 'Once', ...flags]));
}

function problemsOf(...flags: readonly string[]): readonly string[] {
  try {
    planOf(...flags);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(formatConfigProblem);
    throw error;
  }
  return [];
}

/** What a generator makes of the parameters of the plan. */
function generatorReads({ parameters }: StreamCommandPlan): ReturnType<typeof parseGenerationParameters> {
  const limits = { vocabularySize: 100, outputTokensMax: 2 ** 40 };
  return parseGenerationParameters(parameters, readGenerationConfig({}), limits);
}

test.each(['0', '7', '4294967296', '5000000000', '9007199254740991', '9007199254740993', '18446744073709551615'])(
  'a generator gets the seed %s exactly',
  (seed) => {
    expect(generatorReads(planOf('--seed', seed)).seed).toBe(BigInt(seed));
  },
);

test('parameters of generators are given by flags, which count more than --parameters', () => {
  const flags = ['--max-tokens', '5000000000', '--temperature', '0.5', '--seed', '7'];
  const plan = planOf('--parameters', '{"seed": 1, "temperature": 2, "top_k": 3}', ...flags);
  expect(plan.parameters).toEqual({ seed: 7, temperature: 0.5, top_k: 3, max_tokens: 5_000_000_000 });
  expect(generatorReads(plan)).toMatchObject({ seed: 7n, temperature: 0.5, topK: 3, maxTokens: 5_000_000_000 });
});

test.each([
  ['--seed', '-1', 'a whole number'],
  ['--seed', '1.5', 'a whole number'],
  ['--seed', '', 'a whole number'],
  ['--max-tokens', 'many', 'a whole number'],
  ['--max-tokens', '9007199254740993', 'a whole number'],
  ['--temperature', '', 'a number'],
  ['--temperature', 'hot', 'a number'],
  ['--temperature', 'Infinity', 'a number'],
])('%s "%s" is refused', (flag, written, form) => {
  expect(problemsOf(flag, written)).toEqual([`${flag}: must be ${form}, not "${written}"`]);
});

test('which values of its parameters a generator takes the server says', () => {
  expect(problemsOf('--temperature', '101', '--seed', '18446744073709551616', '--max-tokens', '0')).toEqual([]);
});
