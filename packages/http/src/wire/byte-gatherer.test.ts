import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { ByteGatherer, unpinned } from './byte-gatherer.ts';
import { ScriptedMemory } from './testing/scripted-memory.ts';

const idle = { onMemory: () => {} };

function gathererOf(lengthBytes: number | undefined): { gatherer: ByteGatherer; memory: ScriptedMemory } {
  const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
  return { gatherer: new ByteGatherer(lengthBytes, memory.lease(idle)), memory };
}

function taken(gatherer: ByteGatherer): Buffer {
  while (!gatherer.settle());
  return Buffer.from(gatherer.take());
}

test('the pieces are joined in order, whatever their sizes, and the memory for moving them is released', () => {
  const sizes = fc.array(fc.oneof(fc.nat(10), fc.nat(300_000)), { maxLength: 12 });
  fc.assert(
    fc.property(sizes, fc.boolean(), (pieceSizes, isKnown) => {
      const pieces = pieceSizes.map((size, index) => Buffer.alloc(size, index + 1));
      const whole = Buffer.concat(pieces);
      const { gatherer, memory } = gathererOf(isKnown ? whole.length : undefined);
      for (const piece of pieces) gatherer.push(piece);
      expect(gatherer.bytes).toBe(whole.length);
      expect(taken(gatherer).equals(whole)).toBe(true);
      expect(memory.usedBytes).toBe(0);
    }),
    { seed: 3, numRuns: 200 },
  );
});

test('a body of known length is in one buffer when its last byte has arrived', () => {
  for (const bytes of [65_537, 130_000, 131_073, 600_000, 5_000_001]) {
    const { gatherer } = gathererOf(bytes);
    for (let at = 0; at < bytes; at += 1000) gatherer.push(Buffer.alloc(Math.min(1000, bytes - at), 7));
    expect(gatherer.settle()).toBe(true);
    expect(taken(gatherer)).toHaveLength(bytes);
  }
});

test('a body of known length up to a mebibyte is never moved from one buffer to another', () => {
  const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow');
  const { gatherer } = gathererOf(600_000);
  for (let piece = 0; piece < 10; piece++) gatherer.push(new Uint8Array(60_000));
  expect(gatherer.take()).toHaveLength(600_000);
  expect(allocate.mock.calls).toEqual([[600_000]]);
  allocate.mockRestore();
});

test('a single piece is handed on without a copy', () => {
  const { gatherer } = gathererOf(5);
  const piece = Buffer.alloc(5, 1);
  gatherer.push(piece);
  expect(gatherer.take()).toBe(piece);
});

test('bytes that come one by one cost no more than twice their number', () => {
  const { gatherer } = gathererOf(undefined);
  const before = process.memoryUsage();
  for (let at = 0; at < 1_000_000; at++) gatherer.push(Uint8Array.of(at & 255));
  const whole = taken(gatherer);
  expect(whole[999_999]).toBe(999_999 & 255);
  expect(process.memoryUsage().arrayBuffers - before.arrayBuffers).toBeLessThan(64 * 1024 * 1024);
});

test('a small view of a large buffer is copied, so that it does not keep the buffer alive', () => {
  const large = Buffer.allocUnsafeSlow(65_536);
  expect(unpinned(large.subarray(0, 100)).buffer.byteLength).toBe(100);
  expect(unpinned(large.subarray(0, 10_000)).buffer).toBe(large.buffer);
  const small = Buffer.allocUnsafeSlow(16_384);
  expect(unpinned(small.subarray(0, 100)).buffer).toBe(small.buffer);
});

test('memory for moving an unfinished body is released when it is aborted', () => {
  const { gatherer, memory } = gathererOf(undefined);
  for (let piece = 0; piece < 70; piece++) gatherer.push(Buffer.alloc(1024));
  gatherer.clear();
  expect(memory.usedBytes).toBe(0);
});
