import type { StreamPayload, Tensor, TensorSpec } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { ModelView } from '../model/model-view.ts';
import { StreamModel } from './stream-model.ts';

function viewOf(
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  more: Partial<ModelView> = {},
): ModelView {
  return {
    name: 'm',
    version: '1',
    platform: '',
    inputs,
    outputs,
    isBatched: true,
    rowsMax: 8,
    labels: new Map(),
    config: {},
    ...more,
  };
}

const audio: TensorSpec = { name: 'audio', datatype: 'FP32', shape: [-1, 2] };
const state: TensorSpec = { name: 'state', datatype: 'FP32', shape: [-1, 3] };
const listener = new StreamModel(
  viewOf(
    [audio, state],
    [
      { name: 'words', datatype: 'FP32', shape: [-1, 1] },
      { name: 'state_out', datatype: 'FP32', shape: [-1, 3] },
    ],
    { streamStates: [{ input: 'state', output: 'state_out' }] },
  ),
);
const texts = new StreamModel(viewOf([{ name: 'text', datatype: 'BYTES', shape: [-1, 1] }], []));

function tensor(name: string, values: readonly number[]): Tensor {
  return { name, datatype: 'FP32', shape: [1, values.length], data: new Uint8Array(Float32Array.from(values).buffer) };
}

const tensors = (...list: readonly Tensor[]): StreamPayload => ({ kind: 'tensors', tensors: list });

test('the first step gets zeros as state, later ones what the step before gave', () => {
  expect(listener.inputsFrom(tensors(tensor('audio', [1, 2])), undefined)).toEqual([
    tensor('audio', [1, 2]),
    tensor('state', [0, 0, 0]),
  ]);
  const { answer, state: next } = listener.split([tensor('words', [9]), tensor('state_out', [4, 5, 6])]);
  expect(answer).toEqual([tensor('words', [9])]);
  expect(listener.inputsFrom(tensors(tensor('audio', [3, 4])), next).at(-1)).toEqual(tensor('state', [4, 5, 6]));
});

test('a client that sends the state itself is told that the server keeps it', () => {
  expect(() => listener.inputsFrom(tensors(tensor('audio', [1, 2]), tensor('state', [0, 0, 0])), undefined)).toThrow(
    'input state holds the state of a stream of m, which the server keeps; leave it out',
  );
});

test('text goes to the one BYTES input, bytes to the one input of any datatype', () => {
  expect(texts.inputsFrom({ kind: 'text', text: 'hé' }, undefined)).toEqual([
    { name: 'text', datatype: 'BYTES', shape: [1, 1], data: Buffer.from([3, 0, 0, 0, 0x68, 0xc3, 0xa9]) },
  ]);
  const raw = tensor('audio', [1, 2]);
  expect(listener.inputsFrom({ kind: 'bytes', bytes: raw.data }, undefined)[0]).toEqual(raw);
});

test('text for a model of numbers, and bytes that do not fill the shape, are refused with what to send', () => {
  expect(() => listener.inputsFrom({ kind: 'text', text: 'a' }, undefined)).toThrow(/one BYTES input.*send tensors/);
  expect(() => listener.inputsFrom({ kind: 'bytes', bytes: new Uint8Array(7) }, undefined)).toThrow(
    /shape \[1,2\] of FP32, which 7 bytes do not fill/,
  );
});

test('the kind follows from what the model declares', () => {
  expect([listener.kind, texts.kind]).toEqual(['stateful', 'independent']);
  const decoupled = new StreamModel(viewOf([], [], { isDecoupled: true }));
  expect([decoupled.kind, decoupled.isResumable]).toEqual(['decoupled', false]);
  expect(new StreamModel(viewOf([], [], { isDecoupled: true, isResumable: true })).isResumable).toBe(true);
});

test('the state of a stream goes on with a model of the same kind that keeps it in the same tensors', () => {
  const { view } = listener;
  const renamed = { ...view, streamStates: [{ input: 'state', output: 'words' }] };
  expect(listener.hasStatesOf(new StreamModel({ ...view, rowsMax: 1 }))).toBe(true);
  expect(listener.hasStatesOf(new StreamModel(renamed))).toBe(false);
  expect(listener.hasStatesOf(new StreamModel({ ...view, streamStates: [] }))).toBe(false);
  expect(texts.hasStatesOf(new StreamModel({ ...texts.view, isDecoupled: true }))).toBe(false);
});
