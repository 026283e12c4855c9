import { expect, test } from 'vitest';
import { writeByteElements, writeTensorData } from './tensor-writer.ts';
import { JsonWriter } from './writer.ts';

const all = Uint8Array.from({ length: 5000 }, (_, index) => index % 256);

test('bytes of every value are written as JSON, also where the writer has to grow', () => {
  const writer = new JsonWriter(16);
  writeTensorData(writer, { name: 'y', datatype: 'UINT8', shape: [all.length], data: all });
  expect(JSON.parse(Buffer.from(writer.take()).toString())).toEqual([...all]);
});

test.each([
  [0, 0],
  [7, 8],
  [100, 3000],
])('a part of them, from %i to %i, as well', (from, to) => {
  const writer = new JsonWriter(16);
  writer.beginArray();
  writer.number(1);
  writeByteElements(writer, all, from, to);
  writer.number(2);
  writer.endArray();
  expect(JSON.parse(Buffer.from(writer.take()).toString())).toEqual([1, [...all.subarray(from, to)], 2]);
});
