import { expect, test } from 'vitest';
import type { Catalogue, ModelStatus } from '../catalogue/catalogue.ts';
import { ModelTally } from './model-tally.ts';
import { statisticsFrom } from './statistics.ts';

const statuses: ModelStatus[] = [
  { name: 'mlp', version: '1', state: 'ready', reason: '' },
  { name: 'mlp', version: '2', state: 'ready', reason: '' },
  { name: 'mlp', version: '3', state: 'loading', reason: 'the model is loading' },
  { name: 'broken', version: '', state: 'failed', reason: 'no file' },
];
const catalogue: Catalogue = {
  mustFind: () => {
    throw new Error('not called by this test');
  },
  readyVersions: () => [],
  statuses: () => statuses,
};
const tally = new ModelTally(() => 77);
tally.requestAnswered({ queueMs: 1, computeInputMs: 1, computeInferMs: 1, computeOutputMs: 1, totalMs: 4 });
const keeper = {
  statisticsOf: (name: string, version: string) => (name === 'mlp' && version === '1' ? tally.statistics() : undefined),
};
const statistics = statisticsFrom(catalogue, keeper, () => [
  { name: 'mlp', version: '1', residentBytes: 0 },
  { name: 'mlp', version: '2', residentBytes: 2000 },
]);

const named = (model: string, version: string) =>
  statistics.of(model, version).map((counted) => `${counted.name}:${counted.version}`);

test('statistics cover every ready version, of all models or of one, or a single version', () => {
  expect(named('', '')).toEqual(['mlp:1', 'mlp:2']);
  expect(named('mlp', '')).toEqual(['mlp:1', 'mlp:2']);
  expect(named('mlp', '2')).toEqual(['mlp:2']);
  expect(named('broken', '')).toEqual([]);
});

test('a version without requests has zeros, not gaps', () => {
  const [first, second] = statistics.of('mlp', '');
  expect(first).toMatchObject({ answered: { count: 1, ns: 4_000_000n }, lastAnsweredAt: 77, memory: [] });
  expect(second).toMatchObject({
    answered: { count: 0, ns: 0n },
    batches: [],
    memory: [{ type: 'CPU', id: 0, bytes: 2000 }],
  });
});

test.each([
  ['foo', '', "requested model 'foo' is not available"],
  ['foo', '1', "requested model 'foo' is not available"],
  ['mlp', '9', "requested model 'mlp' version 9 is not available"],
  ['mlp', '3', "requested model 'mlp' version 3 is not available"],
])('%s %s is refused as Triton refuses it', (model, version, message) => {
  expect(() => statistics.of(model, version)).toThrow(
    expect.objectContaining({ code: 'invalid-request', message }) as Error,
  );
});
