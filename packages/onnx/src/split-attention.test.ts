import { expect, test } from 'vitest';
import { byteSourceFromBytes } from './byte-source.ts';
import { cutCacheOutputs } from './cache-outputs.ts';
import type { NodeProto } from './model/model-proto.ts';
import { readModelProto } from './model/read-model-proto.ts';
import { field, modelBytes, tensorInfo } from './testing/index.ts';

interface TestNode {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attribute?: Uint8Array;
}

const axisOf = (value: number): Uint8Array => field(5, [field(1, 'axis'), field(3, value), field(20, 2)]);
const orderOf = (values: readonly number[]): Uint8Array =>
  field(5, [field(1, 'perm'), ...values.map((value) => field(8, value)), field(20, 7)]);
const subgraph = field(5, [field(1, 'then_branch'), field(6, [field(2, 'branch')]), field(20, 5)]);
const scalar = (name: string, dims: readonly number[]): Uint8Array =>
  field(5, [...dims.map((size) => field(1, size)), field(2, 1), field(8, name), field(9, new Uint8Array(4))]);

const joinKeys: TestNode = { operator: 'Concat', inputs: ['past_key', 'key'], output: 'keys', attribute: axisOf(2) };
const joinValues: TestNode = { ...joinKeys, inputs: ['past_value', 'value'], output: 'values' };
const turn: TestNode = { operator: 'Transpose', inputs: ['keys'], output: 'turned', attribute: orderOf([0, 1, 3, 2]) };
const score: TestNode = { operator: 'MatMul', inputs: ['query', 'turned'], output: 'scores' };
const weigh: TestNode = { operator: 'Softmax', inputs: ['scores'], output: 'weights' };
const sum: TestNode = { operator: 'MatMul', inputs: ['weights', 'values'], output: 'sums' };
const attention: readonly TestNode[] = [joinKeys, joinValues, turn, score, weigh, sum];

function written({ operator, inputs, output, attribute }: TestNode): Uint8Array {
  return field(1, [
    ...inputs.map((name) => field(1, name)),
    field(2, output),
    field(4, operator),
    ...(attribute === undefined ? [] : [attribute]),
  ]);
}

const cacheShape = ['batch', 2, 'tokens', 4];

/** The operators of the model after it was cut, and of those that read the tensors of one node what they read. */
async function cut(
  nodes: readonly TestNode[],
  graphFields: readonly Uint8Array[] = [],
  shape: readonly (number | string)[] = cacheShape,
  modelFields: readonly Uint8Array[] = [],
): Promise<readonly NodeProto[]> {
  const bytes = modelBytes({
    inputs: ['past_key', 'past_value'].map((name) => tensorInfo(name, 1, shape)),
    outputs: ['sums', 'keys', 'values'].map((name) => tensorInfo(name, 1, cacheShape)),
    graphFields: [...nodes.map(written), ...graphFields],
    modelFields,
  });
  const { model, outputs } = await cutCacheOutputs(bytes);
  expect(outputs.map(({ appended }) => appended)).toEqual(['key', 'value']);
  return (await readModelProto(byteSourceFromBytes(model))).graph.nodes.slice(1);
}

const described = (nodes: readonly NodeProto[]): string[] =>
  nodes.map(({ operator, inputs, outputs }) => `${outputs.join(', ')} = ${operator}(${inputs.join(', ')})`);
const operatorsOf = (nodes: readonly NodeProto[]): string => nodes.map(({ operator }) => operator).join(' ');
const untouched = 'Concat Concat Transpose MatMul Softmax MatMul';

test('attention takes the cache and the new tokens apart, and joins scores and sums only', async () => {
  const nodes = await cut(attention);
  expect(described(nodes)).toEqual([
    'turned of the cache = Transpose(past_key)',
    'turned of new tokens = Transpose(key)',
    'scores of the cache = MatMul(query, turned of the cache)',
    'scores of new tokens = MatMul(query, turned of new tokens)',
    'scores = Concat(scores of the cache, scores of new tokens)',
    'weights = Softmax(scores)',
    'axis for sizes of cache and new tokens = Constant()',
    'shape for sizes of cache and new tokens of the cache = Shape(past_value)',
    'sizes of cache and new tokens of the cache = Gather(shape for sizes of cache and new tokens of the cache, axis for sizes of cache and new tokens)',
    'shape for sizes of cache and new tokens of new tokens = Shape(value)',
    'sizes of cache and new tokens of new tokens = Gather(shape for sizes of cache and new tokens of new tokens, axis for sizes of cache and new tokens)',
    'sizes of cache and new tokens = Concat(sizes of cache and new tokens of the cache, sizes of cache and new tokens of new tokens)',
    'weights for sums of the cache, weights for sums of new tokens = Split(weights, sizes of cache and new tokens)',
    'sums of the cache = MatMul(weights for sums of the cache, past_value)',
    'sums of new tokens = MatMul(weights for sums of new tokens, value)',
    'sums = Add(sums of the cache, sums of new tokens)',
  ]);
  expect(nodes.map(({ attributes }) => attributes.get('axis') ?? attributes.get('perm'))).toEqual([
    { kind: 'integers', value: [0, 1, 3, 2] },
    { kind: 'integers', value: [0, 1, 3, 2] },
    undefined,
    undefined,
    { kind: 'integer', value: -1 },
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    { kind: 'integer', value: 0 },
    { kind: 'integer', value: -1 },
    undefined,
    undefined,
    undefined,
  ]);
});

test('keys that are scaled by a constant are scaled apart', async () => {
  const scaled = [
    joinKeys,
    joinValues,
    turn,
    { operator: 'Mul', inputs: ['turned', 'scale'], output: 'scaled' },
    { ...score, inputs: ['query', 'scaled'] },
    weigh,
    sum,
  ];
  const nodes = described(await cut(scaled, [scalar('scale', [])]));
  expect(nodes).toContain('scaled of the cache = Mul(turned of the cache, scale)');
  expect(nodes).toContain('scores of new tokens = MatMul(query, scaled of new tokens)');
  // By something that may differ between tokens.
  const other = operatorsOf(await cut(scaled, [scalar('scale', [1, 1, 4, 2])]));
  expect(other).toMatch(/^Concat Transpose Mul MatMul Softmax Constant/);
});

test.each([
  ['a subgraph, which may read the cache', attention, [field(1, [field(4, 'If'), subgraph])], cacheShape, []],
  ['caches of another rank', attention, [], ['batch', 'tokens', 4], []],
  [
    'a join on another axis',
    attention.map((node) => (node.operator === 'Concat' ? { ...node, attribute: axisOf(1) } : node)),
    [],
    cacheShape,
    [],
  ],
  ['an old operator set', attention, [], cacheShape, [field(8, [field(1, ''), field(2, 12)])]],
] as const)('%s: nothing is changed', async (_, nodes, graphFields, shape, modelFields) => {
  const found = operatorsOf(await cut(nodes, graphFields, shape, modelFields));
  expect(found.startsWith(untouched)).toBe(true);
});

test.each([
  ['a second reader', [...attention, { operator: 'Shape', inputs: ['keys'], output: 'size' }]],
  [
    'keys as the first operand',
    attention.map((node) => (node === score ? { ...score, inputs: ['turned', 'query'] } : node)),
  ],
  ['another operator on the way', attention.map((node) => (node === turn ? { ...turn, operator: 'Relu' } : node))],
])('%s: those keys stay joined, and the values do not', async (_, nodes) => {
  const found = described(await cut(nodes));
  expect(found[0]).toBe('keys = Concat(past_key, key)');
  expect(found).toContain('sums of the cache = MatMul(weights for sums of the cache, past_value)');
  expect(found.filter((node) => node.startsWith('scores of'))).toEqual([]);
});
