import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { encodeBytesElements, InferenceError, type Tensor } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ClientFrameSchema,
  CollectResponseSchema,
  GenerateRequestSchema,
  InputSchema,
  OutputSchema,
  ServerFrameSchema,
} from '../../proto/generated/millrace/v1/inference_pb.ts';
import { defaultStreamFrameLimits } from './frame-limits.ts';
import { StreamFrameReader } from './read-frame.ts';
import {
  anyClientFrame,
  anyInput,
  anyOutput,
  anyServerFrame,
  clientMessageOf,
  inputMessageOf,
  outputMessageOf,
  serverMessageOf,
  withPlainBytes,
} from './testing/any-frame.ts';
import { encodeCollectResponse, encodeInput, encodeOutput, encodeServerFrame, frameOfOutput } from './write-frame.ts';

const reader = new StreamFrameReader(defaultStreamFrameLimits);
const joined = (pieces: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(pieces));

test('frames of a client are read as the generated code writes them', () => {
  fc.assert(
    fc.property(anyClientFrame, (frame) => {
      expect(reader.readClientFrame(toBinary(ClientFrameSchema, clientMessageOf(frame)))).toEqual(frame);
    }),
    { seed: 7 },
  );
});

test('frames of a server are written byte for byte as the generated code writes them', () => {
  fc.assert(
    fc.property(anyServerFrame, (frame) => {
      const bytes = joined(encodeServerFrame(frame));
      expect(bytes).toEqual(toBinary(ServerFrameSchema, serverMessageOf(frame)));
      expect(fromBinary(ServerFrameSchema, bytes)).toEqual(serverMessageOf(frame));
    }),
    { seed: 7 },
  );
});

test('inputs and outputs of a journal are written as the generated code writes them, and read back', () => {
  fc.assert(
    fc.property(anyInput, anyOutput, (input, output) => {
      const inputBytes = encodeInput(input);
      expect(new Uint8Array(inputBytes)).toEqual(toBinary(InputSchema, create(InputSchema, inputMessageOf(input))));
      expect(withPlainBytes(reader.readInput(inputBytes))).toEqual(input);
      const outputBytes = encodeOutput(output);
      expect(new Uint8Array(outputBytes)).toEqual(
        toBinary(OutputSchema, create(OutputSchema, outputMessageOf(output))),
      );
      expect(withPlainBytes(reader.readOutput(outputBytes))).toEqual(output);
      expect(joined(frameOfOutput(outputBytes))).toEqual(joined(encodeServerFrame(output)));
    }),
    { seed: 7 },
  );
});

test('an answer to Collect holds the last output, if there was one, and how the stream ended', () => {
  const ended = { kind: 'ended', outcome: 'done', message: '', outputs: 2 } as const;
  const output = { sequence: 2n, payload: { case: 'text', value: 'a' } } as const;
  const bytes = toBinary(OutputSchema, create(OutputSchema, output));
  const end = { outcome: 'done', outputs: 2n };
  expect(joined(encodeCollectResponse(bytes, ended))).toEqual(
    toBinary(CollectResponseSchema, create(CollectResponseSchema, { output, ended: end })),
  );
  expect(joined(encodeCollectResponse(undefined, ended))).toEqual(
    toBinary(CollectResponseSchema, create(CollectResponseSchema, { ended: end })),
  );
});

test('a request of Generate needs no sequence, and its input is the last', () => {
  const request = create(GenerateRequestSchema, {
    open: { context: 'storyteller' },
    input: { payload: { case: 'text', value: 'Once' } },
  });
  expect(reader.readGenerateRequest(toBinary(GenerateRequestSchema, request))).toMatchObject({
    open: { context: 'storyteller', mode: 'either', protocolVersions: [1] },
    input: { sequence: 1, endOfInput: true, payload: { kind: 'text', text: 'Once' } },
  });
  const without = create(GenerateRequestSchema, { open: { context: 'storyteller' } });
  expect(() => reader.readGenerateRequest(toBinary(GenerateRequestSchema, without))).toThrow(
    'the request has no input',
  );
});

const number = (value: number) => ({ kind: { case: 'numberValue' as const, value } });
const text = (value: string) => ({ kind: { case: 'stringValue' as const, value } });

function inputWith(tensor: object): Uint8Array {
  const value = { sequence: 1n, tensors: [{ name: 'x', ...tensor }] } as never;
  return toBinary(ClientFrameSchema, create(ClientFrameSchema, { frame: { case: 'input', value } }));
}

function tensorOf(bytes: Uint8Array): Tensor | undefined {
  const frame = reader.readClientFrame(bytes);
  return frame.kind === 'input' && frame.payload.kind === 'tensors' ? frame.payload.tensors[0] : undefined;
}

describe('elements that are listed instead of raw', () => {
  test('numbers, flat and nested, NaN included', () => {
    const nested = { kind: { case: 'listValue' as const, value: { values: [number(1), number(Number.NaN)] } } };
    const found = tensorOf(inputWith({ datatype: 'FP32', shape: [1, 2], data: { values: [nested] } }));
    expect(new Uint8Array(found?.data ?? [])).toEqual(new Uint8Array(new Float32Array([1, Number.NaN]).buffer));
    const half = tensorOf(inputWith({ datatype: 'FP16', shape: [2], data: { values: [number(1), number(-2)] } }));
    expect(half?.data).toEqual(new Uint8Array([0x00, 0x3c, 0x00, 0xc0]));
  });

  test('texts', () => {
    const found = tensorOf(inputWith({ datatype: 'BYTES', shape: [2], data: { values: [text('a'), text('水')] } }));
    expect(found?.data).toEqual(encodeBytesElements(['a', '水']));
  });

  test.each([
    ['a wrong count', { datatype: 'FP32', shape: [3], data: { values: [number(1), number(0.25)] } }, 'takes 3'],
    ['a wrong kind', { datatype: 'INT32', shape: [1], data: { values: [text('1')] } }, 'INT32 takes integers'],
    ['a fraction', { datatype: 'INT64', shape: [1], data: { values: [number(1.5)] } }, 'not an integer'],
    [
      'raw data as well',
      { datatype: 'INT8', shape: [1], raw: new Uint8Array(1), data: { values: [number(1)] } },
      'both raw and data',
    ],
    ['an empty value', { datatype: 'INT8', shape: [1], data: { values: [{}] } }, 'is empty'],
    [
      'raw data of another size',
      { datatype: 'FP32', shape: [2], raw: new Uint8Array(4) },
      'takes 8 bytes, but the data has 4',
    ],
    ['no datatype', { shape: [] }, "tensor 'x' has no datatype"],
    ['another datatype', { datatype: 'FLOAT', shape: [] }, "invalid datatype 'FLOAT'"],
  ])('%s is refused', (_, tensor, message) => {
    expect(() => reader.readClientFrame(inputWith(tensor))).toThrow(InferenceError);
    expect(() => reader.readClientFrame(inputWith(tensor))).toThrow(message);
  });
});

test('tensors are views of the message, and a later frame leaves them intact', () => {
  const bytes = inputWith({ datatype: 'INT8', shape: [3], raw: new Uint8Array([1, 2, 3]) });
  const found = tensorOf(bytes);
  tensorOf(inputWith({ datatype: 'INT8', shape: [1], raw: new Uint8Array([9]) }));
  expect(found?.data.buffer).toBe(bytes.buffer);
  expect([...(found?.data ?? [])]).toEqual([1, 2, 3]);
});
