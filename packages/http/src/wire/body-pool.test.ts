import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyPool, type BodyPoolOptions, lentBytesMin } from './body-pool.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** A pool whose time passes when the test says so. */
function poolOf(options: BodyPoolOptions = {}) {
  const due: (() => void)[] = [];
  const pool = new BodyPool({ ...options, after: (_, callback) => due.push(callback) });
  return {
    pool,
    take: (bytes: number) => pool.take(pool.capacityFor(bytes) as number),
    passTime: () => {
      for (const callback of due.splice(0)) callback();
    },
  };
}

test('a body gets a buffer that is at least as large as it is, and wastes at most a fifth of it', () => {
  const { pool } = poolOf();
  fc.assert(
    fc.property(fc.integer({ min: lentBytesMin, max: 16 * MiB }), (bytes) => {
      const capacity = pool.capacityFor(bytes) as number;
      expect(capacity).toBeGreaterThanOrEqual(bytes);
      expect(capacity - bytes).toBeLessThan(capacity / 5 + 1);
      expect(pool.capacityFor(capacity)).toBe(capacity);
    }),
    { seed: 1, numRuns: 500 },
  );
  expect(pool.capacityFor(1)).toBe(lentBytesMin);
  expect(pool.capacityFor(16 * MiB + 1)).toBeUndefined();
});

test('memory that was given back is lent again, and to one body at a time', () => {
  const { pool, take } = poolOf();
  const first = take(600 * KiB);
  const second = take(600 * KiB);
  expect(second === first).toBe(false);
  pool.giveBack(first);
  expect([pool.lentBytes, pool.freeBytes]).toEqual([640 * KiB, 640 * KiB]);
  expect(take(610 * KiB) === first).toBe(true);
  expect(take(610 * KiB) === first).toBe(false);
  expect([pool.lentBytes, pool.freeBytes]).toEqual([3 * 640 * KiB, 0]);
});

test('no more free memory is kept than the limit allows', () => {
  const { pool, take } = poolOf({ freeBytesMax: 300 * KiB });
  for (const buffer of [take(128 * KiB), take(128 * KiB), take(128 * KiB), take(64 * KiB)]) pool.giveBack(buffer);
  expect([pool.lentBytes, pool.freeBytes]).toEqual([0, 256 * KiB]);
  const none = poolOf({ freeBytesMax: 0 });
  none.pool.giveBack(none.take(64 * KiB));
  expect(none.pool.freeBytes).toBe(0);
});

test('free memory that is not needed is given back, and what is needed stays', () => {
  const { pool, take, passTime } = poolOf();
  const buffers = Array.from({ length: 8 }, () => take(MiB));
  for (const buffer of buffers) pool.giveBack(buffer);
  passTime();
  // Three at a time are in use between the two trims.
  const used = [take(MiB), take(MiB), take(MiB)];
  for (const buffer of used) pool.giveBack(buffer);
  passTime();
  expect(pool.freeBytes).toBe(3 * MiB);
  passTime();
  expect(pool.freeBytes).toBe(0);
  passTime();
  expect(pool.freeBytes).toBe(0);
});

test('a poisoned pool overwrites what is given back, and notices who writes to it afterwards', () => {
  const { pool, take } = poolOf({ isPoisoned: true });
  const buffer = take(64 * KiB).fill(1);
  pool.giveBack(buffer);
  expect(buffer.every((byte) => byte === 0xdb)).toBe(true);
  expect(take(64 * KiB) === buffer).toBe(true);
  pool.giveBack(buffer);
  buffer[1000] = 7;
  expect(() => take(64 * KiB)).toThrow('memory of a body was written to after its release');
});
