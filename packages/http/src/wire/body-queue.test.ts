import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyQueue } from './body-queue.ts';

test('bytes are returned in order, however they were split and whenever they are taken', () => {
  const sizes = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 900, max: 5000 }), fc.constant(-1)),
  );
  fc.assert(
    fc.property(sizes, (steps) => {
      const queue = new BodyQueue();
      const into: number[] = [];
      const out: number[] = [];
      let next = 0;
      for (const step of steps) {
        if (step < 0) out.push(...(queue.take() ?? []));
        else {
          const piece = Uint8Array.from({ length: step }, () => next++ & 255);
          into.push(...piece);
          queue.push(piece);
        }
        expect(queue.bytes).toBe(into.length - out.length);
      }
      for (let piece = queue.take(); piece !== undefined; piece = queue.take()) out.push(...piece);
      expect(out).toEqual(into);
      expect(queue.bytes).toBe(0);
    }),
    { seed: 3, numRuns: 200 },
  );
});

test.each([
  ['a Uint8Array', new Uint8Array(65536)],
  ['a Buffer', Buffer.alloc(65536)],
])('one-byte pieces of %s are gathered, and no view keeps a large buffer alive', (_, large) => {
  const queue = new BodyQueue();
  for (let at = 0; at < 4096; at++) queue.push(large.subarray(at, at + 1));
  queue.push(large.subarray(0, 2000));
  let pieces = 0;
  for (let piece = queue.take(); piece !== undefined; piece = queue.take()) {
    expect(piece.buffer.byteLength).toBeLessThanOrEqual(4096);
    pieces++;
  }
  expect(pieces).toBe(2);
});

test('a piece handed out earlier stays as it was when more is queued', () => {
  const queue = new BodyQueue();
  queue.push(Uint8Array.of(1));
  queue.push(Uint8Array.of(2));
  const taken = queue.take();
  queue.push(Uint8Array.of(3));
  queue.push(Uint8Array.of(4));
  expect(taken).toEqual(Uint8Array.of(1, 2));
  expect(queue.take()).toEqual(Uint8Array.of(3, 4));
});
