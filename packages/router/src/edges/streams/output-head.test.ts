import type { Datatype, StreamPayload, StreamToken, Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { OutputHead } from './output-head.ts';
import { encodeOutput } from './write-frame.ts';

const tensor = (first: number, shape: readonly number[] = [3], name = 'y', datatype: Datatype = 'UINT8'): Tensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return { name, datatype, shape, data: new Uint8Array(count).fill(first) };
};
const tensors = (...all: Tensor[]): StreamPayload => ({ kind: 'tensors', tensors: all });

/** Each is like the one before it, or differs from it in one thing. */
const payloads: readonly (StreamPayload | StreamToken)[] = [
  tensors(tensor(1)),
  tensors(tensor(2)),
  tensors(tensor(3, [1, 3])),
  tensors(tensor(4, [3, 1])),
  tensors(tensor(5, [4])),
  tensors(tensor(6, [4], 'z')),
  tensors(tensor(7, [4], 'ü')),
  tensors(tensor(8, [4], 'ü')),
  tensors(tensor(9, [4], 'ü', 'BOOL')),
  tensors(tensor(10), tensor(11, [3], 'z')),
  tensors(tensor(12)),
  tensors(tensor(13, [0])),
  tensors(tensor(14, [0])),
  tensors(tensor(15, [1024])),
  tensors(tensor(16, [1024])),
  tensors(tensor(17, [1025])),
  tensors(tensor(18, [1025])),
  tensors(),
  { kind: 'none' },
  { kind: 'text', text: 'ü' },
  { kind: 'token', id: 7, text: ' x' },
  tensors(tensor(19)),
];

test('outputs are encoded the same whatever output came before, and stay as they are', () => {
  const head = new OutputHead();
  const expected = payloads.map((payload) =>
    Buffer.from(encodeOutput({ kind: 'output', sequence: 0, inputSequence: 0, payload, endOfOutput: false })),
  );
  const rounds = Array.from({ length: 20 }, () => payloads.map((payload) => head.encode(payload)));
  for (const round of rounds) expect(round.map((bytes) => Buffer.from(bytes))).toEqual(expected);
});

test('an output is a copy of its tensor', () => {
  const head = new OutputHead();
  const data = Uint8Array.of(1, 2, 3);
  const payload = tensors({ name: 'y', datatype: 'UINT8', shape: [3], data });
  const before = [head.encode(payload), head.encode(payload)].map((bytes) => [...bytes]);
  const again = head.encode(payload);
  data.fill(9);
  expect([...again]).toEqual(before[0]);
  expect(before[1]).toEqual(before[0]);
});
