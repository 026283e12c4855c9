import { expect, test } from 'vitest';
import { randomBitsFrom } from '../random-bits.ts';
import { CacheMemory, type NewTokens } from './cache-memory.ts';
import { type CacheTensors, elementBytesOf } from './decoder-tensors.ts';

const tensors: readonly CacheTensors[] = [
  { input: 'key', output: 'key', heads: 2, headSize: 3, datatype: 'FP32' },
  { input: 'value', output: 'value', heads: 1, headSize: 2, datatype: 'FP16' },
];

function paddedLength(tokens: number): number {
  let padded = 4;
  while (padded < tokens) padded *= 2;
  return padded;
}

/** What each sequence has, token after token: for each tensor and head the bytes of a token. */
type Naive = Map<number, Uint8Array[][][]>;

/** A run's new keys and values for `rows` sequences, with some older tokens before the new ones. */
function newTokens(rows: number, tokens: number, random: () => number): readonly NewTokens[] {
  return tensors.map((tensor) => {
    const bytes = new Uint8Array(rows * tensor.heads * tokens * tensor.headSize * elementBytesOf(tensor));
    for (let at = 0; at < bytes.length; at++) bytes[at] = random();
    return { bytes, tokens };
  });
}

function appendNaively(naive: Naive, id: number, count: number, added: readonly NewTokens[], row: number): void {
  const known: Uint8Array[][][] = naive.get(id) ?? tensors.map(({ heads }) => Array.from({ length: heads }, () => []));
  for (const [index, tensor] of tensors.entries()) {
    const { bytes, tokens } = added[index] as NewTokens;
    const size = tensor.headSize * elementBytesOf(tensor);
    for (let head = 0; head < tensor.heads; head++) {
      for (let token = tokens - count; token < tokens; token++) {
        const from = ((row * tensor.heads + head) * tokens + token) * size;
        known[index]?.[head]?.push(new Uint8Array(bytes.subarray(from, from + size)));
      }
    }
  }
  naive.set(id, known);
}

function expectedBytes(known: readonly Uint8Array[][], tensor: CacheTensors, cacheTokens: number): Uint8Array {
  const size = tensor.headSize * elementBytesOf(tensor);
  const bytes = new Uint8Array(tensor.heads * cacheTokens * size);
  for (const [head, tokens] of known.entries()) {
    for (const [token, one] of tokens.entries()) bytes.set(one, (head * cacheTokens + token) * size);
  }
  return bytes;
}

test.each([1, 2, 3, 4])('every sequence keeps its bytes while others join, move and leave (seed %i)', (seed) => {
  const random = randomBitsFrom(seed);
  const below = (limit: number): number => (random() >>> 0) % limit;
  const memory = new CacheMemory(tensors);
  const naive: Naive = new Map();
  const lengths = new Map<number, number>();
  const checkAll = (): void => {
    for (const [id, known] of naive) {
      const cacheTokens = paddedLength(lengths.get(id) as number);
      for (const [index, tensor] of tensors.entries()) {
        const expected = expectedBytes(known[index] as Uint8Array[][], tensor, cacheTokens);
        expect(Buffer.compare(memory.view(id, index, 1), expected), `sequence ${id}, ${tensor.input}`).toBe(0);
      }
    }
  };
  let nextId = 1;
  for (let step = 0; step < 200; step++) {
    const choice = below(10);
    if (choice < 2 || lengths.size === 0) {
      const count = 1 + below(6);
      const added = newTokens(1, count, random);
      memory.append(nextId, 0, count, paddedLength(count), added, 0);
      appendNaively(naive, nextId, count, added, 0);
      lengths.set(nextId, count);
      nextId += 1;
    } else if (choice < 3) {
      const id = [...lengths.keys()][below(lengths.size)] as number;
      memory.release(id);
      naive.delete(id);
      lengths.delete(id);
    } else {
      const [, anyLength = 0] = [...lengths][below(lengths.size)] ?? [];
      const cacheTokens = paddedLength(anyLength);
      const ids = [...lengths].filter(([, length]) => paddedLength(length) === cacheTokens).map(([id]) => id);
      const firstRow = below(2);
      const ordered = memory.gather(ids.slice(firstRow), firstRow);
      expect([...ordered].sort()).toEqual([...ids.slice(firstRow)].sort());
      if (ordered.length > 0) {
        for (const [index, tensor] of tensors.entries()) {
          const together = memory.view(ordered[0] as number, index, ordered.length);
          const each = ordered.map((id) =>
            expectedBytes(naive.get(id)?.[index] as Uint8Array[][], tensor, cacheTokens),
          );
          expect(Buffer.compare(together, Buffer.concat(each)), tensor.input).toBe(0);
        }
      }
      // Models that return the whole cache have older tokens before the new one.
      const added = newTokens(ordered.length, 1 + below(2) * cacheTokens, random);
      for (const [row, id] of ordered.entries()) {
        const length = lengths.get(id) as number;
        memory.append(id, length, 1, paddedLength(length + 1), added, row);
        appendNaively(naive, id, 1, added, row);
        lengths.set(id, length + 1);
      }
    }
    checkAll();
  }
  for (const id of lengths.keys()) memory.release(id);
  expect(memory.bytes).toBe(0);
});
