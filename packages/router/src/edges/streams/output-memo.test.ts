import type { Datatype, StreamPayload, StreamToken, Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { encodeEventSlices, encodeEvents } from '../sse/encode-response.ts';
import { payloadCodec } from './link-frame.ts';
import { OutputMemo } from './output-memo.ts';

function tensor(datatype: Datatype, shape: readonly number[], elements: ArrayBufferView, name = 'y'): Tensor {
  const data = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  return { name, datatype, shape, data };
}

function tensors(...all: Tensor[]): StreamPayload {
  return { kind: 'tensors', tensors: all };
}

const bytes = (first: number): Tensor => tensor('UINT8', [3], Uint8Array.of(first, 0, 255));
const floats = (...values: number[]): Tensor => tensor('FP32', [values.length], Float32Array.from(values));

/** Each is like the one before it, or differs from it in one thing. */
const payloads: readonly (StreamPayload | StreamToken | undefined)[] = [
  tensors(bytes(1)),
  tensors(bytes(2)),
  tensors(tensor('UINT8', [1, 3], Uint8Array.of(3, 0, 255))),
  tensors(tensor('INT8', [3], Int8Array.of(-3, 0, 127))),
  tensors(tensor('UINT8', [3], Uint8Array.of(4, 0, 255), 'z')),
  tensors(tensor('UINT8', [3], Uint8Array.of(5, 0, 255), 'ü"')),
  tensors(tensor('UINT8', [3], Uint8Array.of(6, 0, 255), 'ü"')),
  tensors(bytes(7), tensor('UINT8', [1], Uint8Array.of(8), 'z')),
  tensors(floats(0.5, -1)),
  tensors(floats(0.25, 3)),
  tensors(floats(Number.NaN, 3)),
  tensors(floats(0.75, 3)),
  tensors(tensor('INT64', [1], BigInt64Array.of(5n))),
  tensors(tensor('INT64', [1], BigInt64Array.of(2n ** 60n))),
  tensors(tensor('BYTES', [1], Uint8Array.of(1, 0, 0, 0, 0x41))),
  tensors(tensor('BYTES', [1], Uint8Array.of(1, 0, 0, 0, 0xff))),
  tensors(tensor('UINT8', [0], new Uint8Array(0))),
  tensors(tensor('UINT8', [0], new Uint8Array(0))),
  tensors(tensor('UINT8', [3000], new Uint8Array(3000))),
  tensors(tensor('UINT8', [3000], new Uint8Array(3000))),
  { kind: 'text', text: 'a\nü' },
  { kind: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
  { kind: 'token', id: 7, text: ' x' },
  undefined,
  tensors(bytes(9)),
];

function framesOf(all: readonly (StreamPayload | StreamToken | undefined)[]): readonly StreamLinkFrame[] {
  return all.map((payload, index) => ({
    kind: 'output',
    sequence: index + 1,
    inputSequence: 2 ** 40,
    payload: payload && payloadCodec.encodeOutput(payload),
    endOfOutput: index % 3 === 0,
  }));
}

test('events of outputs are the same whatever output came before', () => {
  const frames = framesOf([...payloads, ...payloads.toReversed()]);
  const expected = Buffer.from(doAtOnce(encodeEventSlices(frames))).toString();
  const memo = new OutputMemo();
  expect(Buffer.from(encodeEvents(frames, memo)).toString()).toBe(expected);
  const oneByOne = frames.map((frame) => Buffer.from(encodeEvents([frame], memo)).toString());
  expect(oneByOne.join('')).toBe(expected);
});

test('what was written before stays intact', () => {
  const memo = new OutputMemo();
  const [first, second] = framesOf([tensors(bytes(1)), tensors(bytes(2))]);
  const written = encodeEvents([first as StreamLinkFrame], memo);
  const before = Buffer.from(written).toString();
  encodeEvents([second as StreamLinkFrame], memo);
  expect(Buffer.from(written).toString()).toBe(before);
});
