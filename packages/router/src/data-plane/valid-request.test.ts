import { encodeBytesElements, type Tensor } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import type { InferRequest } from './infer.ts';
import { servedModel } from './testing/models.ts';
import { inferRequest, type RequestText } from './testing/requests.ts';
import { ValidInferRequest } from './valid-request.ts';

const pair = servedModel(
  [
    { name: 'a', datatype: 'FP32', shape: [-1, 2] },
    { name: 'b', datatype: 'INT8', shape: [-1, -1] },
    { name: 'c', datatype: 'BOOL', shape: [-1, 1], isOptional: true },
  ],
  [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'y', datatype: 'FP32', shape: [-1, 2] },
  ],
);
const text = servedModel([{ name: 't', datatype: 'BYTES', shape: [-1, 1] }], [], { name: 'text' });
const single = servedModel([{ name: 'a', datatype: 'FP32', shape: [2] }], [], { isBatched: false, rowsMax: 1 });

const a = (rows: number): Tensor => ({ name: 'a', datatype: 'FP32', shape: [rows, 2], data: new Uint8Array(rows * 8) });
const b = (rows: number, width = 3): Tensor => ({
  name: 'b',
  datatype: 'INT8',
  shape: [rows, width],
  data: new Uint8Array(rows * width),
});
const c: Tensor = { name: 'c', datatype: 'BOOL', shape: [1, 1], data: new Uint8Array(1) };

function request(inputs: readonly Tensor[], changes: Partial<RequestText> = {}): InferRequest {
  return inferRequest({
    inputs,
    ...changes,
  });
}

test('a valid request has its inputs in the order of the model, its rows and its bytes', () => {
  const valid = ValidInferRequest.from(request([b(4), a(4)]), pair);
  expect(valid.inputs.map((input) => input?.name)).toEqual(['a', 'b', undefined]);
  expect(valid.rows).toBe(4);
  expect(valid.bytes).toBe(4 * 8 + 4 * 3);
  expect(valid.outputs).toEqual([0, 1]);
});

test('outputs keep the order in which they were requested', () => {
  expect(ValidInferRequest.from(request([a(1), b(1)], { outputs: ['y', 'x'] }), pair).outputs).toEqual([1, 0]);
});

test('requests have the same group exactly when their row shapes and their inputs are the same', () => {
  const group = (inputs: readonly Tensor[]) => ValidInferRequest.from(request(inputs), pair).group;
  expect(group([a(1), b(1)])).toBe(group([a(2), b(2)]));
  expect(group([a(1), b(1)])).not.toBe(group([a(1), b(1, 4)]));
  expect(group([a(1), b(1)])).not.toBe(group([a(1), b(1), c]));
});

test('a model that is not batched takes the tensor as it is, as one row', () => {
  const input: Tensor = { name: 'a', datatype: 'FP32', shape: [2], data: new Uint8Array(8) };
  expect(ValidInferRequest.from(request([input]), single).rows).toBe(1);
});

const plain = servedModel(
  [
    { name: 'ids', datatype: 'INT64', shape: [-1] },
    { name: 'threshold', datatype: 'FP32', shape: [], isOptional: true, hasDefault: true },
    { name: 'w', datatype: 'FP32', shape: [-1, 2], isOptional: true, hasDefault: true },
  ],
  [],
);
const fp32 = (name: string, shape: readonly number[]): Tensor => ({
  name,
  datatype: 'FP32',
  shape,
  data: new Uint8Array(4 * shape.reduce((product, size) => product * size, 1)),
});
const ids = (shape: readonly number[]): Tensor => ({
  ...fp32('ids', shape),
  datatype: 'INT64',
  data: new Uint8Array(24),
});

test('one value a row is accepted as [N], and as [N,1], which Triton would show', () => {
  for (const shape of [[3], [3, 1]]) {
    const valid = ValidInferRequest.from(request([ids(shape)]), plain);
    expect([valid.inputs[0]?.shape, valid.rows]).toEqual([[3], 3]);
  }
  expect(() => ValidInferRequest.from(request([ids([1, 3])]), plain)).toThrow('Expected [-1], got [1,3]');
});

test('an input with a default has its own shape, which does not set the number of rows', () => {
  for (const shape of [[], [1]]) {
    const valid = ValidInferRequest.from(request([fp32('threshold', shape), fp32('w', [7, 2]), ids([3])]), plain);
    expect(valid.rows).toBe(3);
    expect(valid.inputs.map((input) => input?.shape)).toEqual([[3], [], [7, 2]]);
  }
  expect(() => ValidInferRequest.from(request([ids([3]), fp32('threshold', [3])]), plain)).toThrow(
    'Expected [], got [3]',
  );
});

test('an input of any rank is accepted in every shape that fits its bytes', () => {
  const any = servedModel([{ name: 'a', datatype: 'FP32', shape: [-1], isAnyRank: true }], [], { isBatched: false });
  for (const shape of [[], [2], [2, 3], [0, 3], [1, 1, 1]]) {
    expect(ValidInferRequest.from(request([fp32('a', shape)]), any).inputs[0]?.shape).toEqual(shape);
  }
  const torn = { ...fp32('a', [2, 3]), data: new Uint8Array(20) };
  expect(() => ValidInferRequest.from(request([torn]), any)).toThrow('Expected 24, got 20');
});

test('sizes of zero are accepted where the model has a free size', () => {
  const free = servedModel(
    [
      { name: 'a', datatype: 'FP32', shape: [-1, -1] },
      { name: 't', datatype: 'BYTES', shape: [-1, 2] },
    ],
    [],
    { isBatched: false },
  );
  const texts = (shape: readonly number[]): Tensor => ({ name: 't', datatype: 'BYTES', shape, data: new Uint8Array() });
  const given = [fp32('a', [0, 4]), texts([0, 2])];
  expect(ValidInferRequest.from(request(given), free).inputs).toEqual(given);
  expect(() => ValidInferRequest.from(request([fp32('a', [2, 0]), texts([2, 0])]), free)).toThrow(
    'Expected [-1,2], got [2,0]',
  );
});

const wrong: readonly (readonly [string, readonly Tensor[], Partial<RequestText>, string])[] = [
  ['an unknown input', [a(1), b(1), { ...c, name: 'z' }], {}, "unexpected inference input 'z' for model 'm'"],
  [
    'a missing input',
    [a(1)],
    {},
    "expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['a'], but missing required input(s) ['b']",
  ],
  [
    'only an optional input',
    [c],
    {},
    "expected 2 inputs but got 0 inputs for model 'm', not counting optional ones. Got input(s) ['c'], but missing required input(s) ['a','b']",
  ],
  ['an input given twice', [a(1), a(1), b(1)], {}, "input 'a' already exists in request"],
  [
    'another datatype',
    [{ ...a(1), datatype: 'FP64' }, b(1)],
    {},
    "inference input 'a' data-type is 'FP64', but model 'm' expects 'FP32'",
  ],
  [
    'another rank',
    [{ ...a(1), shape: [2] }, b(1)],
    {},
    "unexpected shape for input 'a' for model 'm'. Expected [-1,2], got [2]",
  ],
  ['another dimension', [{ ...a(1), shape: [1, 3] }, b(1)], {}, 'Expected [-1,2], got [1,3]'],
  ['a negative dimension', [{ ...b(1), shape: [1, -3] }, a(1)], {}, "input 'b' for model 'm'"],
  ['a dimension that overflows', [{ ...b(1), shape: [1, 2 ** 60] }, a(1)], {}, "input 'b' for model 'm'"],
  [
    'too few bytes',
    [{ ...a(1), data: new Uint8Array(7) }, b(1)],
    {},
    "input byte size mismatch for input 'a' for model 'm'. Expected 8, got 7",
  ],
  ['too many bytes', [{ ...a(1), data: new Uint8Array(9) }, b(1)], {}, 'Expected 8, got 9'],
  ['no rows', [a(0), b(0)], {}, "batch-size must be >= 1 for 'm'"],
  ['too many rows', [a(9), b(9)], {}, "inference request batch-size must be <= 8 for 'm'"],
  ['rows that differ', [a(2), b(3)], {}, "input 'b' batch size does not match other inputs for 'm'"],
  [
    'an unknown output',
    [a(1), b(1)],
    { outputs: ['q'] },
    "unexpected inference output 'q' for model 'm'; its outputs are 'x', 'y'",
  ],
  ['an output requested twice', [a(1), b(1)], { outputs: ['x', 'x'] }, "output 'x' already exists in request"],
];

test.each(wrong)('%s is refused with the reason', (_, inputs, changes, message) => {
  const from = () => ValidInferRequest.from(request(inputs, changes), pair);
  expect(from).toThrow(expect.objectContaining({ code: 'invalid-request' }));
  expect(from).toThrow(message);
});

test('the error has the id of the request, or says that it has none', () => {
  expect(() => ValidInferRequest.from(request([], { id: 'r7' }), pair)).toThrow('[request id: r7] ');
  expect(() => ValidInferRequest.from(request([]), pair)).toThrow('[request id: <id_unknown>] ');
});

test('BYTES elements must match the shape and be UTF-8', () => {
  const bytes = (data: Uint8Array, rows: number) =>
    ValidInferRequest.from(
      request([{ name: 't', datatype: 'BYTES', shape: [rows, 1], data }], { model: 'text' }),
      text,
    );
  expect(bytes(encodeBytesElements(['grüße', '']), 2).rows).toBe(2);
  expect(() => bytes(encodeBytesElements(['a']), 2)).toThrow(
    "input 't' for model 'text': the data has 1 BYTES elements",
  );
  expect(() => bytes(encodeBytesElements(['a', Uint8Array.of(0xff)]), 2)).toThrow(
    "element 1 of input 't' for model 'text' is not valid UTF-8",
  );
  expect(() => bytes(encodeBytesElements(['a\0b']), 1)).toThrow(
    "element 0 of input 't' for model 'text' contains a zero",
  );
});

test('a timeout of the queue is not a deadline', () => {
  const limits = { deadlineAt: 9, queueTimeoutMs: 4 };
  const { origin } = ValidInferRequest.from(request([a(1), b(1)], limits), pair);
  expect(origin).toMatchObject(limits);
  const { request: detached } = ValidInferRequest.from(request([a(1), b(1)], limits), pair).detached();
  expect(detached.origin).toMatchObject({ deadlineAt: Number.POSITIVE_INFINITY, queueTimeoutMs: 4 });
});

test('a tensor without elements runs alone, and without rows is refused where an operator of the graph cannot take it', () => {
  const inputs = [{ name: 'a', datatype: 'FP32' as const, shape: [-1, -1] }];
  const empty = (shape: readonly number[]) =>
    request([{ name: 'a', datatype: 'FP32', shape, data: new Uint8Array(0) }]);
  const hazardous = servedModel(inputs, [], { emptyHazard: 'LSTM', isBatched: false, rowsMax: 1 });
  expect(ValidInferRequest.from(empty([2, 0]), servedModel(inputs, [])).isAlone).toBe(true);
  expect(ValidInferRequest.from(empty([2, 0]), hazardous).isAlone).toBe(true);
  expect(() => ValidInferRequest.from(empty([0, 2]), hazardous)).toThrow(
    "input 'a' for model 'm' has no rows (shape [0,2]), and the operator LSTM of its graph cannot run without rows; send at least one row",
  );
});

describe('of sizes that must be equal, all are zero or none is', () => {
  const inputs = [
    { name: 'a', datatype: 'FP32' as const, shape: [-1, 1] },
    { name: 'b', datatype: 'FP32' as const, shape: [-1, -1] },
    { name: 'c', datatype: 'FP32' as const, shape: [1, -1], hasDefault: true, isOptional: true },
  ];
  const tensor = (name: string, shape: readonly number[]): Tensor => {
    const elements = shape.reduce((product, size) => product * size, 1);
    return { name, datatype: 'FP32', shape, data: new Uint8Array(4 * elements) };
  };
  const sharing = {
    sharesRuns: true,
    isGuessed: true,
    verdict: { kind: 'independent' as const },
    reason: '',
    advice: '',
  };
  const batched = servedModel(inputs, [], { isBatched: true, rowsMax: 8, sharing });
  const named = servedModel(inputs, [], {
    isBatched: false,
    rowsMax: 1,
    sharedSizes: [
      {
        name: 'columns',
        axes: [
          { input: 1, axis: 1 },
          { input: 2, axis: 1 },
        ],
      },
    ],
  });

  test('rows of a batched model', () => {
    expect(() => ValidInferRequest.from(request([tensor('a', [0, 1]), tensor('b', [3, 2])]), batched)).toThrow(
      "input 'a' for model 'm' has shape [0,1] beside input 'b' of shape [3,2], but both have the rows of the batch; send 0 in both, or in neither",
    );
    expect(ValidInferRequest.from(request([tensor('a', [0, 1]), tensor('b', [0, 2])]), batched).isAlone).toBe(true);
    expect(ValidInferRequest.from(request([tensor('a', [2, 1]), tensor('b', [2, 0])]), batched).isAlone).toBe(true);
  });

  test('a value that overrides one in the graph has no rows', () => {
    const given = [tensor('a', [0, 1]), tensor('b', [0, 2]), tensor('c', [1, 2])];
    expect(ValidInferRequest.from(request(given), batched).isAlone).toBe(true);
  });

  test('sizes that have the same name in the graph', () => {
    expect(() =>
      ValidInferRequest.from(request([tensor('a', [1, 1]), tensor('b', [1, 0]), tensor('c', [1, 2])]), named),
    ).toThrow(
      "input 'b' for model 'm' has shape [1,0] beside input 'c' of shape [1,2], but the model gives both the size 'columns'",
    );
    const free = [tensor('a', [0, 1]), tensor('b', [3, 0]), tensor('c', [1, 0])];
    expect(ValidInferRequest.from(request(free), named).isAlone).toBe(true);
  });
});
