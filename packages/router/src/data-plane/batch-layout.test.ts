import {
  type AnsweredMessage,
  type BatchTensor,
  elementsOf,
  encodeBytesElements,
  type Region,
  type Tensor,
} from '@millrace/protocol';
import { expect, test } from 'vitest';
import { AnswerSplitter, layOutBatch, splitterOf } from './batch-layout.ts';
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
