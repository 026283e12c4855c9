import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BytesCursor,
  bytesElementsProblem,
  encodeBytesElements,
  takeBytesElements,
  takeBytesRowOffsets,
} from './bytes-elements.ts';

const anyElements = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });

test('text and bytes are encoded with a little-endian length before each', () => {
  const data = encodeBytesElements(['é', Uint8Array.of(0xff), '']);
  expect(data).toEqual(Uint8Array.of(2, 0, 0, 0, 0xc3, 0xa9, 1, 0, 0, 0, 0xff, 0, 0, 0, 0));
});

test('elements come back as they went in, as views of the data', () => {
  fc.assert(
    fc.property(anyElements, (elements) => {
      const data = encodeBytesElements(elements);
      const decoded = takeBytesElements(data) as Uint8Array[];
      expect(decoded).toEqual(elements);
      for (const element of decoded) expect(element.buffer).toBe(data.buffer);
      expect(bytesElementsProblem(data, elements.length)).toBeUndefined();
    }),
    { seed: 7, numRuns: 100 },
  );
});

test('data cut at any byte is a problem, and never more than its whole elements', () => {
  const data = encodeBytesElements(['ab', '', 'cdefg']);
  const ends = [0, 6, 10, 19];
  for (let length = 0; length < data.length; length += 1) {
    const cut = data.subarray(0, length);
    expect(bytesElementsProblem(cut, 3)).toMatch(/truncated|declares|has \d BYTES elements/);
    expect(takeBytesElements(cut)?.length).toBe(ends.includes(length) ? ends.indexOf(length) : undefined);
    expect(takeBytesRowOffsets(cut, 3, 1)).toBeUndefined();
  }
});

test('a truncated length, a false length and trailing bytes have different messages', () => {
  expect(bytesElementsProblem(Uint8Array.of(1, 0, 0), 1)).toBe(
    'BYTES element 0 is truncated: only 3 of the 4 bytes of its length are present',
  );
  expect(bytesElementsProblem(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 1), 1)).toBe(
    'BYTES element 0 declares 4294967295 bytes, but only 1 bytes follow',
  );
  expect(bytesElementsProblem(encodeBytesElements(['a', 'b']), 1)).toBe(
    '5 bytes follow the 1 BYTES elements that the shape has',
  );
  expect(bytesElementsProblem(encodeBytesElements(['a']), 2)).toBe(
    'the data has 1 BYTES elements, but the shape has 2',
  );
  expect(bytesElementsProblem(Uint8Array.of(0), 0)).toMatch(/^1 bytes follow/);
});

test('rows are split in one pass at the same offsets as element by element', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 1, max: 5 }),
      fc.infiniteStream(fc.uint8Array({ maxLength: 9 })),
      (rows, perRow, stream) => {
        const elements = [...stream.take(rows * perRow)];
        const data = encodeBytesElements(elements);
        const offsets = takeBytesRowOffsets(data, rows, perRow) as Float64Array;
        expect(offsets.length).toBe(rows + 1);
        for (let row = 0; row < rows; row += 1) {
          const expected = encodeBytesElements(elements.slice(row * perRow, (row + 1) * perRow));
          expect(data.subarray(offsets[row], offsets[row + 1])).toEqual(expected);
        }
        expect(takeBytesRowOffsets(data, rows + 1, perRow)).toBeUndefined();
        if (rows > 0) expect(takeBytesRowOffsets(data, rows - 1, perRow)).toBeUndefined();
      },
    ),
    { seed: 11, numRuns: 300 },
  );
});

test('rows without elements take no bytes, and a false number of rows allocates nothing', () => {
  expect(takeBytesRowOffsets(new Uint8Array(0), 3, 0)).toEqual(Float64Array.of(0, 0, 0, 0));
  expect(takeBytesRowOffsets(Uint8Array.of(1), 3, 0)).toBeUndefined();
  expect(takeBytesRowOffsets(new Uint8Array(8), 2 ** 50, 1)).toBeUndefined();
});

test('a length that reaches past the end in the middle of a row is refused', () => {
  const data = encodeBytesElements(['abcd', 'e']);
  data[0] = 200;
  expect(takeBytesRowOffsets(data, 1, 2)).toBeUndefined();
  expect(takeBytesRowOffsets(data, 2, 1)).toBeUndefined();
  expect(takeBytesElements(data)).toBeUndefined();
});

test('a cursor stops for good at malformed data', () => {
  const cursor = new BytesCursor(Uint8Array.of(0, 0, 0, 0, 9, 0, 0, 0, 1));
  expect(cursor.next()).toBe(true);
  expect(cursor.view()).toEqual(new Uint8Array(0));
  expect(cursor.next()).toBe(false);
  expect(cursor.next()).toBe(false);
  expect(cursor.isMalformed).toBe(true);
});
