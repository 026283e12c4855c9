import { describe, expect, test } from 'vitest';
import { resolveMemoryLimits } from './memory-config.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { freeBytesNeeded, leavesEnough } from './memory-share.ts';
import { shareBytes } from './testing/memory-referee.ts';
import { leaseOf } from './testing/story.ts';

const mebibyte = 1024 * 1024;

test('the needed free bytes solve both rules as they are written', () => {
  for (const [connection, owner] of [
    [0, 100],
    [100, 100],
    [30, 100],
    [1, 1e9],
  ] as const) {
    const free = freeBytesNeeded(1e6, connection, owner);
    const share = (free * free) / 1e6;
    expect(connection * share).toBeCloseTo((share - owner) ** 2, 0);
    expect(share).toBeGreaterThanOrEqual(owner - 1e-6);
  }
});

test('an owner that holds nothing needs no free bytes', () => {
  expect(freeBytesNeeded(1e6, 0, 0)).toBe(0);
});

test('nothing is enough once a part is exceeded', () => {
  expect(leavesEnough(1000, 10, 100)).toBe(true);
  expect(leavesEnough(1000, 11, 100)).toBe(false);
  expect(leavesEnough(1000, 0, -1)).toBe(false);
});

/** Each takes all that it gets, one piece after the other, through many connections, and keeps it. */
function takeAll(ledger: MemoryLedger, name: string): number {
  let taken = 0;
  for (let connections = 0; connections < 200; connections++) {
    const connection = ledger.connection(name);
    for (;;) {
      const [lease] = leaseOf(connection);
      if (!lease.hasRoomFor(mebibyte / 4)) break;
      lease.count(mebibyte / 4);
      taken += mebibyte / 4;
    }
  }
  return taken;
}

describe('owners that take all they get and keep it', () => {
  const limits = resolveMemoryLimits();
  test.each([0, 1, 2, 9, 20])('%i of them leave the next one the promised share', (others) => {
    const ledger = new MemoryLedger(limits);
    for (let index = 0; index < others; index++) takeAll(ledger, `other-${index}`);
    const free = limits.sharedBytes - ledger.sharedUsed;
    expect(free).toBeGreaterThanOrEqual(limits.sharedBytes / (1 + others));
    const [sole] = leaseOf(ledger.connection('sole connection'));
    expect(sole.hasRoomFor((3 / 8) * shareBytes(limits.sharedBytes, others))).toBe(true);
    expect(takeAll(ledger, 'next')).toBeGreaterThanOrEqual(shareBytes(limits.sharedBytes, others) - mebibyte / 2);
  });

  test('one connection alone has room for a largest body', () => {
    const [lease] = leaseOf(new MemoryLedger(limits).connection('alone'));
    expect(lease.hasRoomFor(364 * mebibyte)).toBe(true);
    expect(lease.hasRoomFor(365 * mebibyte)).toBe(false);
  });
});
