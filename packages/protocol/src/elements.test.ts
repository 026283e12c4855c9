import { expect, test } from 'vitest';
import { type Datatype, datatypes } from './datatypes.ts';
import { elementsOf } from './elements.ts';

const names = Object.keys(datatypes) as Datatype[];

test('aligned data is viewed, unaligned data is copied, and both read the same', () => {
  const memory = new ArrayBuffer(64);
  const source = Uint8Array.from({ length: 16 }, (_, index) => 17 * index + 3);
  for (const datatype of names) {
    const width = datatypes[datatype].bytes ?? 1;
    for (const byteOffset of [8, 9, 10, 12]) {
      const data = new Uint8Array(memory, byteOffset, 16);
      data.set(source);
      const elements = elementsOf({ datatype, data });
      expect(elements.length).toBe(16 / width);
      expect(elements.BYTES_PER_ELEMENT).toBe(width);
      expect(new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength)).toEqual(source);
      const isView = elements.buffer === memory;
      expect([datatype, byteOffset, isView]).toEqual([datatype, byteOffset, byteOffset % width === 0]);
    }
  }
});

test('elements are little-endian and of the kind their datatype says', () => {
  const data = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
  expect(elementsOf({ datatype: 'INT64', data })).toEqual(BigInt64Array.of(2n ** 63n - 1n));
  expect(elementsOf({ datatype: 'UINT64', data })[0]).toBe(2n ** 63n - 1n);
  expect(elementsOf({ datatype: 'INT32', data })).toEqual(Int32Array.of(-1, 0x7fff_ffff));
  expect(elementsOf({ datatype: 'INT8', data })[7]).toBe(127);
  expect(elementsOf({ datatype: 'FP16', data })).toBeInstanceOf(Uint16Array);
  expect(elementsOf({ datatype: 'FP32', data: Uint8Array.of(0, 0, 0x80, 0x3f) })[0]).toBe(1);
});

test('no elements are an empty array, also at an odd offset', () => {
  for (const datatype of names) {
    expect(elementsOf({ datatype, data: new Uint8Array(new ArrayBuffer(8), 3, 0) }).length).toBe(0);
  }
});
