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
const integers = (name: string, values: readonly number[], dims: readonly number[] = [values.length]): Uint8Array =>
  field(5, [
    ...dims.map((size) => field(1, size)),
    field(2, 7),
    field(8, name),
    field(9, new Uint8Array(BigInt64Array.from(values, BigInt).buffer)),
  ]);
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

test('a factor of keys becomes one of the query', async () => {
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
  expect(nodes).toContain('factor 0 for scores = Mul(query, scale)');
  expect(nodes).toContain('scores of the cache = MatMul(factor 0 for scores, turned of the cache)');
  expect(nodes).toContain('scores of new tokens = MatMul(factor 0 for scores, turned of new tokens)');
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
  ['a second reader', [...attention, { operator: 'Relu', inputs: ['keys'], output: 'other' }]],
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

test('a shape of the joined cache is computed from its parts', async () => {
  const nodes = described(await cut([...attention, { operator: 'Shape', inputs: ['keys'], output: 'size' }]));
  expect(nodes.slice(0, 7)).toEqual([
    'shape of cache and new tokens of the cache = Shape(past_key)',
    'shape of cache and new tokens of new tokens = Shape(key)',
    'axis for shape of cache and new tokens = Constant()',
    'tokens for shape of cache and new tokens = Mul(shape of cache and new tokens of new tokens, axis for shape of cache and new tokens)',
    'shape of cache and new tokens = Add(shape of cache and new tokens of the cache, tokens for shape of cache and new tokens)',
    'factors for shape of cache and new tokens, heads times 1 = Constant()',
    'shape of cache and new tokens, heads times 1 = Mul(shape of cache and new tokens, factors for shape of cache and new tokens, heads times 1)',
  ]);
  expect(nodes.at(-1)).toBe('size = Identity(shape of cache and new tokens, heads times 1)');
  expect(nodes).toContain('scores of the cache = MatMul(query, turned of the cache)');
});

/** Each of the two heads three times, by the sizes of the tensor, as exporters write it. */
function repeated(tensor: string): readonly TestNode[] {
  const sizeOf = (axis: string): readonly TestNode[] => [
    { operator: 'Gather', inputs: [`${tensor} shape`, axis], output: `${tensor} ${axis}` },
    { operator: 'Unsqueeze', inputs: [`${tensor} ${axis}`, 'first'], output: `${tensor} [${axis}]` },
  ];
  const [rows, tokens] = [`${tensor} [0]`, `${tensor} [2]`];
  return [
    { operator: 'Shape', inputs: [tensor], output: `${tensor} shape` },
    ...sizeOf('0'),
    ...sizeOf('2'),
    { operator: 'Unsqueeze', inputs: [tensor, 'third'], output: `${tensor} apart` },
    {
      operator: 'Concat',
      inputs: [rows, 'heads', 'times', tokens, 'size'],
      output: `${tensor} spread`,
      attribute: axisOf(0),
    },
    { operator: 'Expand', inputs: [`${tensor} apart`, `${tensor} spread`], output: `${tensor} expanded` },
    {
      operator: 'Concat',
      inputs: [rows, 'all heads', tokens, 'size'],
      output: `${tensor} joined`,
      attribute: axisOf(0),
    },
    { operator: 'Reshape', inputs: [`${tensor} expanded`, `${tensor} joined`], output: `${tensor} repeated` },
  ];
}

const repetitionConstants: readonly Uint8Array[] = [
  integers('0', [0], []),
  integers('2', [2], []),
  integers('first', [0]),
  integers('third', [2]),
  integers('heads', [2]),
  integers('times', [3]),
  integers('all heads', [6]),
  integers('size', [4]),
];
const grouped: readonly TestNode[] = [
  joinKeys,
  joinValues,
  ...repeated('keys'),
  ...repeated('values'),
  { ...turn, inputs: ['keys repeated'] },
  score,
  weigh,
  { ...sum, inputs: ['weights', 'values repeated'] },
];

test('heads that are repeated for queries are not: those queries become rows of one product', async () => {
  const nodes = await cut(grouped, repetitionConstants);
  expect(described(nodes).filter((node) => !/ = (Shape|Gather|Constant)\(|^sizes/.test(node))).toEqual([
    'turned of the cache = Transpose(past_key)',
    'turned of new tokens = Transpose(key)',
    'groups for scores = Reshape(query, shape for groups for scores)',
    'scores of the cache = MatMul(groups for scores, turned of the cache)',
    'scores of new tokens = MatMul(groups for scores, turned of new tokens)',
    'groups of scores = Concat(scores of the cache, scores of new tokens)',
    'scores = Reshape(groups of scores, shape for scores)',
    'weights = Softmax(scores)',
    'groups for sums = Reshape(weights, shape for groups for sums)',
    'weights for sums of the cache, weights for sums of new tokens = Split(groups for sums, sizes of cache and new tokens)',
    'sums of the cache = MatMul(weights for sums of the cache, past_value)',
    'sums of new tokens = MatMul(weights for sums of new tokens, value)',
    'groups of sums = Add(sums of the cache, sums of new tokens)',
    'sums = Reshape(groups of sums, shape for sums)',
  ]);
  const shapes = nodes.flatMap(({ outputs, attributes }) =>
    outputs[0]?.startsWith('shape for') === true && attributes.has('value_ints') ? [attributes.get('value_ints')] : [],
  );
  expect(shapes).toEqual([2, 6, 2, 6].map((heads) => ({ kind: 'integers', value: [0, heads, -1, 0] })));
});

const without = (name: string, constant: Uint8Array): readonly Uint8Array[] => [
  ...repetitionConstants.filter((_, index) => index !== constantNames.indexOf(name)),
  constant,
];
const constantNames = ['0', '2', 'first', 'third', 'heads', 'times', 'all heads', 'size'];

test.each([
  ['how often is known in a run only', grouped, without('times', scalar('other', []))],
  ['a size of the cache is another', grouped, without('heads', integers('heads', [4]))],
  ['heads and size are not joined in this order', grouped, without('size', integers('size', [8]))],
  ['copies lie before the heads', grouped, without('third', integers('third', [1]))],
  [
    'what is repeated is read by another',
    [
      ...grouped,
      { operator: 'Relu', inputs: ['keys expanded'], output: 'a' },
      { operator: 'Relu', inputs: ['values apart'], output: 'b' },
    ],
    repetitionConstants,
  ],
])('caches stay joined where %s', async (_, nodes, constants) => {
  const found = described(await cut(nodes, constants));
  expect(found).toEqual(nodes.map(({ operator, inputs, output }) => `${output} = ${operator}(${inputs.join(', ')})`));
});
