import { expect, test } from 'vitest';
import type { AttributeValue, GraphProto, NodeProto, StoredTensor } from './model/model-proto.ts';
import { ShapeArithmetic, type ShapeElement } from './shape-arithmetic.ts';

const cacheSizes = ['rows', 3, 'tokens', 64] as const;

function stored(name: string, values: readonly number[], shape: readonly number[] = [values.length]): StoredTensor {
  return { name, elementType: 7, shape, values };
}

function node(
  operator: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, AttributeValue>> = {},
): NodeProto {
  return { operator, domain: '', name: '', inputs, outputs: [output], attributes: new Map(Object.entries(attributes)) };
}

function elementsOf(nodes: readonly NodeProto[], tensor: string): readonly ShapeElement[] | undefined {
  const constants = [
    stored('zero', [0], []),
    stored('one', [1], []),
    stored('two', [2], []),
    stored('minus one', [-1], []),
    stored('first', [0]),
    stored('times', [3]),
    stored('rest', [-1]),
    stored('last', [-1]),
    stored('end', [Number.MAX_SAFE_INTEGER]),
  ];
  const graph: GraphProto = {
    nodes,
    inputs: [],
    outputs: [],
    initializers: new Map(constants.map((constant) => [constant.name, constant])),
  };
  return new ShapeArithmetic(graph, new Map([['cache', cacheSizes]])).takeElements(tensor);
}

const shape = node('Shape', ['cache'], 'shape');
const tokens = [node('Gather', ['shape', 'two'], 'tokens'), node('Unsqueeze', ['tokens', 'first'], 'listed')];
const spread = [shape, ...tokens, node('Concat', ['times', 'listed', 'rest'], 'spread')];

test('sizes are followed by name through the nodes that gather and list them', () => {
  expect(elementsOf([shape], 'shape')).toEqual(cacheSizes);
  expect(elementsOf(spread, 'spread')).toEqual([3, 'tokens', -1]);
});

test('a shape in which -1 keeps a size is followed, as torch.expand is exported', () => {
  const value: AttributeValue = { kind: 'tensor', value: stored('', [1]) };
  const nodes = [
    ...spread,
    node('Reshape', ['spread', 'rest'], 'wanted'),
    node('Shape', ['wanted'], 'count'),
    node('ConstantOfShape', ['count'], 'ones', { value }),
    node('Mul', ['ones', 'minus one'], 'negative'),
    node('Equal', ['wanted', 'negative'], 'isKept'),
    node('Where', ['isKept', 'ones', 'wanted'], 'expanded'),
  ];
  expect(elementsOf(nodes, 'isKept')).toEqual([0, 0, 1]);
  expect(elementsOf(nodes, 'expanded')).toEqual([3, 'tokens', 1]);
});

test('numbers are computed with, and a size by 1 stays what it is', () => {
  const heads = [shape, node('Gather', ['shape', 'one'], 'heads'), ...tokens];
  expect(elementsOf([...heads, node('Mul', ['heads', 'times'], 'all')], 'all')).toEqual([9]);
  expect(elementsOf([...heads, node('Mul', ['tokens', 'one'], 'same')], 'same')).toEqual(['tokens']);
  expect(elementsOf([...heads, node('Mul', ['tokens', 'times'], 'more')], 'more')).toEqual([undefined]);
  expect(elementsOf([...heads, node('Equal', ['tokens', 'zero'], 'is')], 'is')).toEqual([undefined]);
});

test('the last size of any tensor is one element, also after it became a factor', () => {
  const nodes = [
    node('Shape', ['query'], 'sizes'),
    node('Slice', ['sizes', 'last', 'end'], 'size'),
    node('Cast', ['size'], 'number', { to: { kind: 'integer', value: 1 } }),
    node('Sqrt', ['number'], 'root'),
    node('Div', ['one', 'root'], 'factor'),
    node('Slice', ['query', 'last', 'end'], 'rows of the query'),
  ];
  expect(elementsOf(nodes, 'factor')).toEqual([undefined]);
  expect(elementsOf(nodes, 'sizes')).toBeUndefined();
  expect(elementsOf(nodes, 'rows of the query')).toBeUndefined();
});

test('nothing is known of other operators, of other domains, and of chains without an end', () => {
  expect(elementsOf([shape, node('Relu', ['shape'], 'other')], 'other')).toBeUndefined();
  expect(elementsOf([{ ...shape, domain: 'com.example' }], 'shape')).toBeUndefined();
  expect(elementsOf([node('Identity', ['b'], 'a'), node('Identity', ['a'], 'b')], 'a')).toBeUndefined();
  const chain = Array.from({ length: 100 }, (_, index) => node('Identity', [`${index}`], `${index + 1}`));
  expect(elementsOf([node('Identity', ['zero'], '0'), ...chain], '100')).toBeUndefined();
  expect(elementsOf([node('Identity', ['zero'], '0'), ...chain], '20')).toEqual([0]);
});
