import type { RowVerdict } from '@millrace/onnx';
import { expect, test } from 'vitest';
import { type GivenModel, readTestModel, serveTestModel, testEntries } from './testing/test-model.ts';

const verdicts = {
  independent: { kind: 'independent' },
  dependent: { kind: 'dependent', node: 'softmax_1', reason: 'Softmax over axis 0 mixes the rows' },
  unknown: { kind: 'unknown', node: 'custom_1', reason: 'the operator acme.Custom is not known' },
} as const satisfies Record<string, RowVerdict>;

const batch = (choice: string): string => `parameters { key: "millrace.batch" value { string_value: "${choice}" } }`;
const fixed: GivenModel = { inputs: { x: [1, [1, 4]] }, outputs: { y: [1, [1, 4]] } };
const unlike: GivenModel = { inputs: { x: [1, ['batch', 4]], z: [1, ['nodes', 4]] } };
const unnamed: GivenModel = { inputs: { x: [1, ['batch', 4]], z: [1, ['', 4]] } };

type Verdict = keyof typeof verdicts;
/** What is written, the verdict, and then `max_batch_size`, the rows of a batch in the scheduler and whether runs are shared. */
type Row = readonly [config: string | undefined, verdict: Verdict, rowsMax: number, batchRows: number, shares: boolean];

const noneWritten: readonly Row[] = [
  [undefined, 'independent', 64, 64, true],
  [undefined, 'dependent', 0, 1, false],
  [undefined, 'unknown', 0, 1, false],
  ['', 'independent', 64, 64, true],
  ['', 'unknown', 0, 1, false],
  ['dynamic_batching { }', 'independent', 64, 64, true],
  ['dynamic_batching { }', 'unknown', 0, 1, false],
  ['dynamic_batching { preferred_batch_size: [ 8 ] }', 'unknown', 0, 1, false],
  [batch('auto'), 'independent', 64, 64, true],
  [batch('auto'), 'unknown', 0, 1, false],
  [batch('always'), 'independent', 64, 64, true],
  [batch('always'), 'unknown', 64, 64, true],
  [batch('always'), 'dependent', 64, 64, true],
  [batch('never'), 'independent', 0, 1, false],
  [batch('never'), 'unknown', 0, 1, false],
];

const written: readonly Row[] = [
  ['max_batch_size: 8', 'independent', 8, 8, true],
  ['max_batch_size: 8', 'unknown', 8, 1, false],
  ['max_batch_size: 8', 'dependent', 8, 1, false],
  ['max_batch_size: 8 dynamic_batching { }', 'independent', 8, 8, true],
  ['max_batch_size: 8 dynamic_batching { }', 'unknown', 8, 8, true],
  ['max_batch_size: 8 dynamic_batching { }', 'dependent', 8, 8, true],
  [`max_batch_size: 8 ${batch('always')}`, 'unknown', 8, 8, true],
  [`max_batch_size: 8 ${batch('always')}`, 'dependent', 8, 8, true],
  [`max_batch_size: 8 ${batch('never')}`, 'independent', 8, 1, false],
  [`max_batch_size: 8 dynamic_batching { } ${batch('never')}`, 'independent', 8, 1, false],
  [`max_batch_size: 8 ${testEntries}`, 'unknown', 8, 1, false],
  [`max_batch_size: 8 ${testEntries}`, 'independent', 8, 8, true],
  ['max_batch_size: 1', 'independent', 1, 1, false],
  ['max_batch_size: 1 dynamic_batching { }', 'dependent', 1, 1, false],
  ['max_batch_size: 0', 'independent', 0, 1, false],
  [testEntries.replaceAll('[ 4 ]', '[ -1, 4 ]'), 'independent', 0, 1, false],
];

test.each([...noneWritten, ...written])(
  '%j with rows that are %s: max_batch_size %i, batches of %i rows, shares runs: %s',
  async (config, verdict, rowsMax, batchRows, shares) => {
    const given = config === undefined ? {} : { config };
    const { view, policy } = await serveTestModel({ ...given, verdict: verdicts[verdict] });
    expect(view.config.max_batch_size).toBe(rowsMax);
    expect([view.isBatched, view.rowsMax]).toEqual([rowsMax > 0, Math.max(1, rowsMax)]);
    expect(policy.rowsMax).toBe(batchRows);
    expect(view.sharing).toMatchObject({ sharesRuns: shares, verdict: verdicts[verdict] });
    // What a client sends back must not say more than was written.
    const isWritten = config?.includes('dynamic_batching') === true;
    expect('dynamic_batching' in view.config).toBe(shares || isWritten);
  },
);

test.each([
  ['fixed first sizes', fixed, /"x" has the shape \[ 1, 4 \]/],
  ['first sizes of different names', unlike, /name their first sizes differently \(batch, nodes\)/],
  ['no inputs', { inputs: {}, outputs: { y: [1, ['n']] } } satisfies GivenModel, /no inputs/],
])('a guess serves a graph with %s as it is', async (_, given, reason) => {
  const { view, policy, warnings } = await serveTestModel(given);
  expect([view.isBatched, policy.rowsMax]).toEqual([false, 1]);
  expect(view.sharing?.reason).toMatch(reason);
  expect(warnings).toEqual([]);
});

test('first sizes of which one has no name may be the same', async () => {
  const { view } = await serveTestModel(unnamed);
  expect(view).toMatchObject({ isBatched: true, sharing: { sharesRuns: true, isGuessed: true } });
});

test('sequence_batching says that requests share runs', async () => {
  const { policy } = await serveTestModel({
    config: `max_batch_size: 8 ${testEntries} sequence_batching { oldest { max_candidate_sequences: 4 } }`,
    verdict: verdicts.unknown,
  });
  expect(policy.rowsMax).toBe(8);
});

test.each(['max_batch_size: 8 dynamic_batching { }', `max_batch_size: 8 ${batch('always')}`, batch('always')])(
  '%j for rows that depend on each other warns with the node, and a strict server refuses it',
  async (config) => {
    const given = { config, verdict: verdicts.dependent };
    const { warnings } = await serveTestModel(given);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message).toMatch(
      /lets requests share runs, but the rows of the graph depend on each other: node softmax_1: Softmax over axis 0/,
    );
    const strict = await readTestModel({ ...given, isBatchingStrict: true });
    expect(strict.definition).toBe(undefined);
    expect(strict.failures[0]?.problems[0]?.message).toContain('node softmax_1');
    const unproven = await readTestModel({ config, verdict: verdicts.unknown, isBatchingStrict: true });
    expect([unproven.failures, unproven.warnings]).toEqual([[], []]);
  },
);

test('a strict server serves a graph with dependent rows whose runs are not shared', async () => {
  const { policy } = await serveTestModel({ verdict: verdicts.dependent, isBatchingStrict: true });
  expect(policy.rowsMax).toBe(1);
});

test.each([
  ['an unknown value', batch('sometimes'), {}, /"sometimes" is none of auto, always, never/],
  ['always, where the graph has no free first size', batch('always'), fixed, /is always, but "x" has the shape/],
  ['always with max_batch_size 0', `max_batch_size: 0 ${batch('always')}`, {}, /is always, but max_batch_size is 0/],
  [
    'always, where the dims are written with the first size',
    `${batch('always')} ${testEntries.replaceAll('[ 4 ]', '[ -1, 4 ]')}`,
    {},
    /is always, but the dims of "x" are written with the first size/,
  ],
])('millrace.batch: %s is a problem', async (_, config, given: GivenModel, message) => {
  const { failures } = await readTestModel({ ...given, config });
  expect(failures[0]?.problems.map((problem) => problem.message).join('\n')).toMatch(message);
});

test('the delay and the preferred sizes of a version that shares no runs hold nothing back', async () => {
  const { policy } = await serveTestModel({
    config: `max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 500 } ${batch('never')}`,
  });
  expect([policy.preferredRows, policy.delayMs]).toEqual([[], 0]);
});

test('dynamic_batching of a model that a guess leaves unbatched is named in a warning', async () => {
  const { warnings } = await serveTestModel({ config: 'dynamic_batching { }', verdict: verdicts.unknown });
  expect(warnings.map(({ message }) => message)).toEqual([
    'forms no batches: the rows of the graph are not proven independent: node custom_1: the operator acme.Custom is ' +
      'not known; write millrace.batch: always if the rows are independent after all',
  ]);
});

test('what a configuration reports about sharing may be sent back', async () => {
  const { view } = await serveTestModel({ verdict: verdicts.unknown });
  const { parameters } = view.config as { parameters: Record<string, { string_value: string }> };
  expect(Object.keys(parameters)).toEqual([
    'millrace.batch.shares',
    'millrace.batch.verdict',
    'millrace.batch.node',
    'millrace.batch.reason',
  ]);
  const written = Object.entries(parameters).map(
    ([key, value]) => `parameters { key: "${key}" value { string_value: ${JSON.stringify(value.string_value)} } }`,
  );
  const again = await serveTestModel({ config: written.join('\n'), verdict: verdicts.independent });
  expect(again.warnings).toEqual([]);
  expect(again.view.config.parameters).toMatchObject({ 'millrace.batch.verdict': { string_value: 'independent' } });
  expect(again.view.config.parameters).not.toHaveProperty(['millrace.batch.node']);
});

test('runs on a GPU are not filled up with rows where the rows are not proven independent', async () => {
  const sizes = 'parameters { key: "millrace.gpu_batch_sizes" value { string_value: "1,8" } }';
  const refused = await readTestModel({ config: `max_batch_size: 8 ${sizes}`, verdict: verdicts.unknown });
  expect(refused.failures[0]?.problems[0]?.message).toContain('fills batches with rows of zeros');
  const served = await serveTestModel({ config: `max_batch_size: 8 ${sizes}`, verdict: verdicts.independent });
  expect(served.gpuBatchSizes).toEqual([1, 8]);
});
