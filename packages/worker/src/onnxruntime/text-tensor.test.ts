import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textBytes, textsFrom, writeTexts } from './text-tensor.ts';

function bytesOf(texts: readonly string[]): Uint8Array {
  const bytes = new Uint8Array(textBytes(texts));
  writeTexts(texts, bytes);
  return bytes;
}

test('texts are read as they were written', () => {
  const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0'));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), (texts) => {
      expect(textsFrom(bytesOf(texts), texts.length, 'input')).toEqual(texts);
    }),
    { seed: 20261115, numRuns: 200 },
  );
});

test('an element is its length in four little-endian bytes, then its UTF-8', () => {
  expect([...bytesOf(['ż', ''])]).toEqual([2, 0, 0, 0, 0xc5, 0xbc, 0, 0, 0, 0]);
});

test.each([
  ['a byte too many', [1, 0, 0, 0, 97, 0], 1],
  ['an element cut off', [5, 0, 0, 0, 97], 1],
  ['a length cut off', [1, 0, 0, 0, 97, 1, 0], 2],
  ['an element too few', [1, 0, 0, 0, 97], 2],
  ['a length beyond the data', [255, 255, 255, 255, 97], 1],
])('bytes with %s are refused with the name of the input', (_, bytes, count) => {
  expect(() => textsFrom(Uint8Array.from(bytes), count, 'texts')).toThrow(
    `the bytes of input "texts" are not the ${count} elements of its shape`,
  );
});
