import { expect, test } from 'vitest';
import { readTestModel, serveTestModel, testConfig } from './testing/test-model.ts';

const shared = (value: string) => `parameters { key: "millrace.cache_shared" value { string_value: "${value}" } }`;

test('results are kept where the configuration says so, and shared between callers only where it says that', async () => {
  const choiceOf = async (config: string) => (await serveTestModel({ config })).definition.cache;
  expect(await choiceOf(testConfig)).toBeUndefined();
  expect(await choiceOf(`${testConfig} response_cache { enable: false }`)).toBeUndefined();
  expect(await choiceOf(`${testConfig} response_cache { enable: true }`)).toEqual({ isShared: false });
  const withSharing = `${testConfig} response_cache { enable: true }`;
  expect(await choiceOf(`${withSharing} ${shared('false')}`)).toEqual({ isShared: false });
  expect(await choiceOf(`${withSharing} ${shared('true')}`)).toEqual({ isShared: true });
});

test.each([
  [shared('true'), 'parameters["millrace.cache_shared"]', 'has no meaning without response_cache'],
  [`response_cache { enable: true } ${shared('yes')}`, 'parameters["millrace.cache_shared"]', 'none of true, false'],
  ['response_cache { enable: true } sequence_batching { }', 'response_cache.enable', 'depend on its earlier requests'],
  [
    'response_cache { enable: true } model_transaction_policy { decoupled: true }',
    'response_cache.enable',
    'decoupled model cannot be cached',
  ],
])('%s is a problem, named by its field', async (config, field, message) => {
  const { failures } = await readTestModel({ config: `${testConfig} ${config}` });
  const problems = failures.flatMap((failure) => failure.problems);
  expect(problems).toContainEqual(expect.objectContaining({ field, message: expect.stringContaining(message) }));
});
