import {
  type AnsweredMessage,
  type BatchTensor,
  elementsOf,
  encodeBytesElements,
  type Region,
  type Tensor,
} from '@millrace/protocol';
import { expect, test } from 'vitest';
import { AnswerSplitter, inMemoryOrder, layOutBatch, splitterOf } from './batch-layout.ts';
import type { ServedModel } from './served-model.ts';
import { servedModel } from './testing/models.ts';
import { inferRequest } from './testing/requests.ts';
import { ValidInferRequest } from './valid-request.ts';

const heap = (bytes: number): Region => ({ bytes: new Uint8Array(bytes).fill(0xee), release: () => {} });

function tensor(name: string, shape: readonly number[], values: Float32Array | Int32Array): Tensor {
  const datatype = values instanceof Float32Array ? 'FP32' : 'INT32';
  return { name, datatype, shape, data: new Uint8Array(values.buffer) };
}

function valid(model: ServedModel, inputs: readonly Tensor[], outputs: readonly string[] = []): ValidInferRequest {
  const request = inferRequest({
    inputs,
    outputs,
  });
  return ValidInferRequest.from(request, model);
}

function answer(...outputs: readonly BatchTensor[]): AnsweredMessage {
  return { kind: 'answered', batch: 1, outputs, region: heap(0), runMicros: 1 };
}

const model = servedModel(
  [
    { name: 'a', datatype: 'FP32', shape: [-1, 2] },
    { name: 'b', datatype: 'INT32', shape: [-1, 1] },
  ],
  [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'y', datatype: 'BYTES', shape: [-1, -1] },
  ],
);

test('rows of several requests are contiguous in request order, each input aligned', () => {
  const first = valid(model, [tensor('a', [1, 2], Float32Array.of(1, 2)), tensor('b', [1, 1], Int32Array.of(7))]);
  const second = valid(model, [
    tensor('b', [2, 1], Int32Array.of(8, 9)),
    tensor('a', [2, 2], Float32Array.of(3, 4, 5, 6)),
  ]);
  const { inputs, outputs, region } = layOutBatch(model, [first, second], heap);
  expect(inputs.map(({ index, shape }) => ({ index, shape }))).toEqual([
    { index: 0, shape: [3, 2] },
    { index: 1, shape: [3, 1] },
  ]);
  expect([...elementsOf({ datatype: 'FP32', data: inputs[0]?.data as Uint8Array })]).toEqual([1, 2, 3, 4, 5, 6]);
  expect([...elementsOf({ datatype: 'INT32', data: inputs[1]?.data as Uint8Array })]).toEqual([7, 8, 9]);
  for (const { data } of inputs) {
    expect(data.buffer).toBe(region.bytes.buffer);
    expect(data.byteOffset % 64).toBe(0);
  }
  expect(outputs).toEqual([0, 1]);
});

test('a batch requests every output that one of its requests wants, and no other', () => {
  const inputs = [tensor('a', [1, 2], new Float32Array(2)), tensor('b', [1, 1], new Int32Array(1))];
  expect(layOutBatch(model, [valid(model, inputs, ['y']), valid(model, inputs, ['y'])], heap).outputs).toEqual([1]);
  expect(layOutBatch(model, [valid(model, inputs, ['y']), valid(model, inputs, ['x'])], heap).outputs).toEqual([0, 1]);
});

test('an answer is split into views of each request\u2019s rows, BYTES by their elements', () => {
  const x = Float32Array.of(1, 2, 3, 4, 5, 6);
  const y = encodeBytesElements(['a', 'bb', '', 'dddd', 'e', 'f']);
  const splitter = new AnswerSplitter(
    model,
    answer({ index: 0, shape: [3, 2], data: new Uint8Array(x.buffer) }, { index: 1, shape: [3, 2], data: y }),
    3,
    false,
  );
  const [, rest] = [splitter.rows([0], 0, 1), splitter.rows([1, 0], 1, 3)];
  expect(rest.map(({ name, shape }) => ({ name, shape }))).toEqual([
    { name: 'y', shape: [2, 2] },
    { name: 'x', shape: [2, 2] },
  ]);
  expect(rest[0]?.data).toEqual(encodeBytesElements(['', 'dddd', 'e', 'f']));
  expect(rest[0]?.data.buffer).toBe(y.buffer);
  expect([...elementsOf({ datatype: 'FP32', data: rest[1]?.data as Uint8Array })]).toEqual([3, 4, 5, 6]);
});

test('an output without the rows of the batch fails with an error that says what to change', () => {
  const pooled = { index: 0, shape: [1, 2], data: new Uint8Array(8) };
  expect(() => new AnswerSplitter(model, answer(pooled), 3, false)).toThrow('set millrace.batch: never');
});

test('a batch of one request gets the whole answer in the engine\u2019s shape', () => {
  const pooled = { index: 0, shape: [1, 2], data: new Uint8Array(Float32Array.of(7, 8).buffer) };
  const inputs = [tensor('a', [3, 2], new Float32Array(6)), tensor('b', [3, 1], new Int32Array(3))];
  const splitter = splitterOf(model, answer(pooled), 3, [valid(model, inputs)]);
  expect(splitter.rows([0], 0, 3)).toMatchObject([{ shape: [1, 2], data: pooled.data }]);
});

test('reshaped tensors keep the caller\u2019s shape both ways: the worker translates it', () => {
  const reshaped = servedModel(
    [{ name: 'a', datatype: 'FP32', shape: [-1, -1, 1], engineShape: [-1, -1] }],
    [{ name: 'x', datatype: 'FP32', shape: [-1, 1], engineShape: [-1] }],
  );
  const request = valid(reshaped, [tensor('a', [1, 3, 1], Float32Array.of(1, 2, 3))]);
  expect(layOutBatch(reshaped, [request, request], heap).inputs[0]?.shape).toEqual([2, 3, 1]);
  const splitter = new AnswerSplitter(reshaped, answer({ index: 0, shape: [2, 1], data: new Uint8Array(8) }), 2, false);
  expect(splitter.rows([0], 1, 2)[0]?.shape).toEqual([1, 1]);
});

test('inputs that lie where the worker reads them are not copied', () => {
  const single = servedModel([{ name: 'a', datatype: 'FP32', shape: [-1, 2] }], model.view.outputs);
  const memory = new Uint8Array(Float32Array.of(9, 9, 1, 2, 3, 4, 5, 6).buffer);
  const place = (begin: number, rows: number): ValidInferRequest =>
    valid(single, [{ name: 'a', datatype: 'FP32', shape: [rows, 2], data: memory.subarray(begin, begin + 8 * rows) }]);
  const joined: number[][] = [];
  const join = (arrived: readonly Uint8Array[]): Region => {
    joined.push(arrived.map(({ byteOffset }) => byteOffset));
    return { bytes: memory.subarray(8), release: () => {} };
  };
  const mustNotLend = (): never => {
    throw new Error('memory was lent for a copy');
  };
  const { inputs, region, slices } = layOutBatch(single, [place(8, 1), place(16, 2)], mustNotLend, join);
  expect(inputs).toEqual([{ index: 0, shape: [3, 2], data: memory.subarray(8) }]);
  expect([region.bytes, slices]).toEqual([memory.subarray(8), undefined]);
  const alone = layOutBatch(single, [place(16, 2)], mustNotLend, join);
  expect(alone.inputs).toEqual([{ index: 0, shape: [2, 2], data: memory.subarray(16) }]);
  // Not side by side: in another order, or with other rows between them.
  const withGap = layOutBatch(single, [place(0, 1), place(16, 2)], heap, join);
  expect([...elementsOf({ datatype: 'FP32', data: withGap.inputs[0]?.data as Uint8Array })]).toEqual([
    9, 9, 3, 4, 5, 6,
  ]);
  const copied = layOutBatch(single, [place(16, 2), place(8, 1)], heap, join);
  expect([...elementsOf({ datatype: 'FP32', data: copied.inputs[0]?.data as Uint8Array })]).toEqual([3, 4, 5, 6, 1, 2]);
  expect(joined).toEqual([[8, 16], [16]]);
});

test('of several inputs only those of one request are used where they are', () => {
  const memory = new Uint8Array(64);
  const place = (): ValidInferRequest =>
    valid(model, [
      { name: 'a', datatype: 'FP32', shape: [1, 2], data: memory.subarray(16, 24) },
      { name: 'b', datatype: 'INT32', shape: [1, 1], data: memory.subarray(0, 4) },
    ]);
  const join = (arrived: readonly Uint8Array[]): Region => {
    expect(arrived.map(({ byteOffset }) => byteOffset)).toEqual([0, 16]);
    return { bytes: memory.subarray(0, 24), release: () => {} };
  };
  const { inputs } = layOutBatch(model, [place()], heap, join);
  expect(inputs.map(({ index, data }) => [index, data.byteOffset])).toEqual([
    [0, 16],
    [1, 0],
  ]);
  const both = layOutBatch(model, [place(), place()], heap, join);
  expect(both.region.bytes.buffer).not.toBe(memory.buffer);
});

test('requests of a batch are in the order of their only input in memory, if that is large', () => {
  const memory = new Uint8Array(300_000);
  const part = (begin: number, bytes: number) => ({
    valid: {
      inputs: [{ name: 'a', datatype: 'UINT8' as const, shape: [], data: memory.subarray(begin, begin + bytes) }],
      outputs: [],
      rows: 1,
    },
  });
  const [first, second, third] = [part(0, 100_000), part(100_000, 100_000), part(200_000, 100_000)];
  expect(inMemoryOrder([third, first, second])).toEqual([first, second, third]);
  const small = [part(200, 100), part(100, 100)];
  expect(inMemoryOrder([...small])).toEqual(small);
});
