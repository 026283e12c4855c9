import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeBytesElements } from '../bytes-elements.ts';
import type { Tensor } from '../tensor.ts';
import { writeTensorData, writeTensorSteps } from './tensor-writer.ts';
import { JsonWriter } from './writer.ts';

function pieces(tensor: Tensor): Uint8Array[] {
  const writer = new JsonWriter();
  const parts: Uint8Array[] = [];
  for (const _ of writeTensorSteps(writer, tensor)) parts.push(writer.takePart());
  parts.push(writer.take());
  return parts;
}

function whole(tensor: Tensor): string {
  const writer = new JsonWriter();
  writeTensorData(writer, tensor);
  return Buffer.from(writer.take()).toString();
}

test.each([0, 1, 2047, 2048, 2049, 4096, 10_000])('%d floats in steps are the same text as at once', (count) => {
  const data = new Uint8Array(Float32Array.from({ length: count }, (_, index) => Math.sin(index)).buffer);
  const tensor: Tensor = { name: 'y', datatype: 'FP32', shape: [count], data };
  const parts = pieces(tensor);
  expect(Buffer.concat(parts).toString()).toBe(whole(tensor));
  expect(parts).toHaveLength(Math.max(1, Math.ceil(count / 2048)));
});

test('texts in steps are the same as at once, at every length and with characters of every size', () => {
  const unit = fc.constantFrom('a', 'é', '€', '😀', '"', '\\', '\u0001', '\n');
  const text = fc.tuple(unit, unit, fc.integer({ min: 0, max: 70_000 })).map(([a, b, length]) => a + b.repeat(length));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
      const tensor: Tensor = {
        name: 'y',
        datatype: 'BYTES',
        shape: [texts.length],
        data: encodeBytesElements(texts),
      };
      const parts = pieces(tensor);
      expect(Buffer.concat(parts).toString() === whole(tensor)).toBe(true);
      expect(JSON.parse(Buffer.concat(parts).toString())).toEqual(texts);
      // A byte of text is at most six of JSON.
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(6 * 2 * 64 * 1024 + 64);
    }),
    { seed: 16, numRuns: 60 },
  );
});

test('text that is not UTF-8 is refused wherever it is cut', () => {
  const element = new Uint8Array(70_000).fill(0x80);
  const data = encodeBytesElements([element]);
  expect(() => pieces({ name: 'y', datatype: 'BYTES', shape: [1], data })).toThrow(
    /element 0 of output 'y' is not valid UTF-8/,
  );
});

test('many empty texts are written in steps too', () => {
  const data = encodeBytesElements(Array<string>(100_000).fill(''));
  const parts = pieces({ name: 'y', datatype: 'BYTES', shape: [100_000], data });
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(100_000);
  expect(JSON.parse(Buffer.concat(parts).toString())).toHaveLength(100_000);
});
