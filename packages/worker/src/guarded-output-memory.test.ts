import { copyOf, HeapRegion } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inPlaceBytesMin } from './engine.ts';
import { GuardedOutputMemory } from './guarded-output-memory.ts';
import { usedByte, usedMemory } from './testing/used-memory.ts';

const outputsOf = (parts: readonly Uint8Array[]) => parts.map((data, index) => ({ index, shape: [data.length], data }));

describe('a region with an unwritten part is not returned', () => {
  test.each([1, 3, 4, 7, 8, 9, 15, 16, 17, 100, 5000])('of %i bytes', (size) => {
    const { memory } = usedMemory();
    const parts = memory.layOut([16, size]);
    parts[0]?.fill(1);
    expect([memory.isWritten(0), memory.isWritten(1)]).toEqual([true, false]);
    expect(() => memory.take(outputsOf(parts))).toThrow('output 1 was not written');
  });

  test.each([16, 17, 100, 5000])('of %i bytes, when only its beginning or its end was written', (size) => {
    for (const range of [[0, size - 8] as const, [8, size] as const]) {
      const { memory } = usedMemory();
      const parts = memory.layOut([size]);
      parts[0]?.fill(1, ...range);
      expect(memory.isWritten(0)).toBe(false);
      expect(() => memory.take(outputsOf(parts))).toThrow('output 0 was not written');
    }
  });
});

test('outputs that an engine writes in place are returned, for any sizes and values', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: inPlaceBytesMin, maxLength: 40 }), { minLength: 1, maxLength: 5 }),
      fc.integer(),
      (values, seed) => {
        const { memory, lent } = usedMemory(seed);
        const parts = memory.layOut(values.map(({ length }) => length));
        for (const [part, bytes] of values.entries()) parts[part]?.set(bytes);
        const region = memory.take(outputsOf(parts));
        expect(parts.map((bytes) => [...bytes])).toEqual(values.map((bytes) => [...bytes]));
        expect(region).toBe(lent[0]);
        expect(parts.every(({ byteOffset }) => byteOffset % 8 === 0)).toBe(true);
      },
    ),
    // Parts of four bytes equal their sentinel once in 2 ** 32: never with these values.
    { seed: 11, numRuns: 300 },
  );
});

describe('outputs that are given', () => {
  test('are not copied where whoever takes them copies, up to the limit; nothing is lent for them', () => {
    const { lent, memory } = usedMemory(5, 24);
    const outputs = [new Uint8Array(16).fill(1), new Uint8Array(8)];
    const parts = memory.give(outputs);
    expect(parts).toBe(outputs);
    memory.take(outputsOf(parts)).release();
    expect(lent).toEqual([]);
  });

  test('are copied beyond it, and everywhere else', () => {
    for (const givenBytesMax of [0, 24]) {
      const { lent, memory } = usedMemory(5, givenBytesMax);
      const outputs = [new Uint8Array(16).fill(1), new Uint8Array(9)];
      const parts = memory.give(outputs);
      const region = memory.take(outputsOf(parts));
      outputs[0]?.fill(2);
      expect(parts.map((part) => [...part])).toEqual([Array(16).fill(1), Array(9).fill(0)]);
      expect(region).toBe(lent[0]);
    }
  });

  test('take the place of what was laid out, and are replaced by what is laid out next', () => {
    const { memory } = usedMemory(5, 24);
    memory.layOut([8]);
    const given = memory.give([Uint8Array.of(1)]);
    memory.take(outputsOf(given));
    const parts = memory.layOut([8]);
    expect(() => memory.take(outputsOf(parts))).toThrow('output 0 was not written');
  });
});

test('copied outputs count as written, even when they equal the sentinel', () => {
  const { memory } = usedMemory();
  const parts = memory.layOut([32, 1, 0]);
  const sentinel = copyOf(parts[0] as Uint8Array);
  memory.write(0, sentinel);
  memory.fill(1, (target) => target.set([usedByte]));
  expect(() => memory.take(outputsOf(parts))).not.toThrow();
});

test('every run has another sentinel', () => {
  const { memory } = usedMemory();
  const seen = new Set(Array.from({ length: 1000 }, () => String(memory.layOut([16])[0])));
  expect(seen.size).toBe(1000);
});

test('no earlier content of the memory is left in the region', () => {
  const { memory, lent } = usedMemory();
  const parts = memory.layOut([5, 0, 12, 3]);
  for (const part of parts.keys()) memory.fill(part, (target) => target.fill(1));
  memory.take(outputsOf(parts));
  expect(lent[0]?.bytes).not.toContain(usedByte);
  expect(lent[0]?.bytes.length).toBe(16 + 8 + 3);
});

test('an output that is not in its own part is refused, and fewer of its rows are not', () => {
  const { memory } = usedMemory();
  const parts = memory.layOut([16, 16]);
  for (const part of parts) part.fill(1);
  const [first = new Uint8Array(0), second = new Uint8Array(0)] = parts;
  for (const data of [new Uint8Array(16), second.subarray(8), first]) {
    const wrong = outputsOf([first, data]);
    expect(() => memory.take(wrong)).toThrow('output 1 is not in its own memory');
  }
  expect(() => memory.take(outputsOf(parts).slice(1))).toThrow('it returned 1 outputs, but laid out memory for 2');
  expect(() => memory.take(outputsOf(parts.map((part) => part.subarray(0, 8))))).not.toThrow();
});

test('memory is released once: when it is laid out again, or released before it was taken', () => {
  const released: number[] = [];
  const lend = (bytes: number) => {
    const region = new HeapRegion(new Uint8Array(bytes));
    return {
      bytes: region.bytes,
      release() {
        region.release();
        released.push(bytes);
      },
    };
  };
  const memory = new GuardedOutputMemory(lend, () => 5);
  memory.layOut([24]);
  const parts = memory.layOut([32]);
  expect(released).toEqual([24]);
  memory.release();
  memory.release();
  expect(released).toEqual([24, 32]);
  expect(parts[0]?.length).toBe(32);
  const taken = memory.take(outputsOf(memory.layOut([0])));
  memory.release();
  expect(released).toEqual([24, 32]);
  taken.release();
  expect(memory.take([]).bytes.length).toBe(0);
});
