import { type TensorSpec, takeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { type InputFile, tensorFromFile } from './file-tensor.ts';

const fileOf = (bytes: number): InputFile => ({ path: 'a.bin', bytes: new Uint8Array(bytes).fill(7) });

test('a BYTES input takes the file as its only element', () => {
  const spec: TensorSpec = { name: 'x', datatype: 'BYTES', shape: [-1, 1] };
  const tensor = tensorFromFile(spec, fileOf(3), undefined);
  expect(tensor.shape).toEqual([1, 1]);
  expect(takeBytesElements(tensor.data)).toEqual([Uint8Array.of(7, 7, 7)]);
  expect(() => tensorFromFile({ ...spec, shape: [2] }, fileOf(3), undefined)).toThrow(
    'input x BYTES[2] takes 2 elements, but a.bin is one; give a --shape x=N,N of one element',
  );
});

test.each<[readonly number[], number, readonly number[] | undefined, readonly number[]]>([
  [[2, 3], 24, undefined, [2, 3]],
  [[-1, 3], 36, undefined, [3, 3]],
  [[-1, -1], 12, undefined, [1, 3]],
  [[-1, -1, -1], 24, [1, 2, 3], [1, 2, 3]],
])('shape %j and %i bytes make a tensor of shape %3$j', (shape, bytes, wanted, expected) => {
  const tensor = tensorFromFile({ name: 'x', datatype: 'FP32', shape }, fileOf(bytes), wanted);
  expect(tensor.shape).toEqual(expected);
  expect(tensor.data).toHaveLength(bytes);
});

test.each<[readonly number[], number, RegExp]>([
  [[2, 3], 23, /^a.bin has 23 bytes, but input x FP32\[2,3\] takes 24; a file holds the elements/],
  [[-1, 3], 13, /takes a multiple of 12; a file holds/],
  [[-1, 0], 4, /takes a multiple of 0/],
  [[-1, -1, -1], 24, /has 3 free sizes, which a.bin does not determine; give them with --shape x=N,N/],
  [[2, -1, -1], 24, /has 2 free sizes/],
])('shape %j and %i bytes are refused', (shape, bytes, message) => {
  expect(() => tensorFromFile({ name: 'x', datatype: 'FP32', shape }, fileOf(bytes), undefined)).toThrow(message);
});
