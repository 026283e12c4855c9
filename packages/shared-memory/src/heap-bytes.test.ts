import { expect, test } from 'vitest';
import { heapBytes } from './heap-bytes.ts';

test.each([0, 1, 4096, 4097, 600_000])('%i bytes of ordinary memory are exactly that, and aligned', (bytes) => {
  const memory = heapBytes(bytes);
  expect(memory.length).toBe(bytes);
  expect(memory.byteOffset % 8).toBe(0);
  expect(memory.constructor).toBe(Uint8Array);
});
