import type { InputFrame, OpenFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { jsonCodec, protobufCodec, serverFrameFrom } from './frame-codec.ts';

const samples = Buffer.from(Float32Array.of(0.1, -2.5, 3).buffer);
const input: InputFrame = {
  kind: 'input',
  sequence: 2,
  payload: { kind: 'tensors', tensors: [{ name: 'audio', datatype: 'FP32', shape: [1, 3], data: samples }] },
  endOfInput: true,
};
const open: OpenFrame = {
  kind: 'open',
  streamId: 'a',
  mode: 'either',
  context: 'm',
  parameters: {},
  resumeAfter: 3,
  protocolVersions: [],
};

test('an input is written as JSON numbers that give the same bytes again', () => {
  const { input: written } = JSON.parse(jsonCodec.encode(input).toString()) as {
    input: { sequence: number; endOfInput: boolean; tensors: { data: number[] }[] };
  };
  expect([written.sequence, written.endOfInput]).toEqual([2, true]);
  expect(Buffer.from(Float32Array.from(written.tensors[0]?.data ?? []).buffer)).toEqual(samples);
});

test('an output is the same whether its elements are listed or raw', () => {
  const tensor = { name: 'speech', datatype: 'FP32' as const, shape: [3] };
  const output = { sequence: 4, inputSequence: 2 };
  const expected = {
    kind: 'output',
    ...output,
    payload: { kind: 'tensors', tensors: [{ ...tensor, data: samples }] },
    endOfOutput: false,
  };
  const data = [...new Float32Array(Uint8Array.from(samples).buffer)];
  expect(serverFrameFrom({ output: { ...output, tensors: [{ ...tensor, data }] } })).toEqual(expected);
  expect(serverFrameFrom({ output: { ...output, tensors: [{ ...tensor, raw: samples.toString('base64') }] } })).toEqual(
    expected,
  );
});

test('the message of Generate holds the opening and the input in both forms', () => {
  expect(JSON.parse(jsonCodec.encodeGenerate(open, input).toString())).toMatchObject({
    open: { streamId: 'a', mode: 'either', context: 'm', resumeAfter: 3 },
    input: { sequence: 2, endOfInput: true },
  });
  expect(protobufCodec.encodeGenerate(open, input).includes(samples)).toBe(true);
});
