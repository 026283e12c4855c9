import fc from 'fast-check';
import { beforeEach, expect, test, vi } from 'vitest';
import type { BodyPlacement } from '../exchange.ts';
import { BodyPool, LentBody } from './body-pool.ts';
import { type BodyLender, ByteGatherer, unpinned } from './byte-gatherer.ts';
import { copiedBytesPerTurn } from './copy-turns.ts';
import { ScriptedMemory } from './testing/scripted-memory.ts';

const idle = { onMemory: () => {} };

function gathererOf(lengthBytes: number | undefined): { gatherer: ByteGatherer; memory: ScriptedMemory } {
  const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
  return { gatherer: new ByteGatherer(lengthBytes, memory.lease(idle)), memory };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

// The bodies of a test share turns with those of the one before.
beforeEach(async () => {
  await turn();
});

function taken(gatherer: ByteGatherer): Buffer {
  gatherer.settleNow();
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

test('a body of known length is in one buffer when its last byte has arrived', async () => {
  for (const bytes of [65_537, 130_000, 131_073, 600_000, 5_000_001]) {
    await turn();
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

test('bodies that grow at once share what may be copied in a turn, and all of them get their bytes', async () => {
  const copied = vi.spyOn(Buffer.prototype, 'copy');
  const copiedBytes = (): number =>
    copied.mock.calls.reduce((sum, [, , from = 0, to = 0]) => sum + (to as number) - (from as number), 0);
  const bodies = Array.from({ length: 12 }, () => gathererOf(undefined));
  const whole = 3 * 1024 * 1024;
  for (const { gatherer } of bodies) {
    gatherer.push(Buffer.alloc(whole / 2, 1));
    gatherer.push(Buffer.alloc(whole / 4, 2));
    gatherer.push(Buffer.alloc(whole / 4 + 1, 3));
  }
  const perTurn = [copiedBytes()];
  while (!bodies.every(({ gatherer }) => gatherer.settle())) {
    const before = copiedBytes();
    await turn();
    perTurn.push(copiedBytes() - before);
  }
  copied.mockRestore();
  // A turn of this test may have an end of two turns of the bodies in it.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * copiedBytesPerTurn);
  expect(perTurn.length).toBeGreaterThan(3);
  for (const { gatherer } of bodies) expect(gatherer.take()).toHaveLength(whole + 1);
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

/** Counts as an exchange does: pieces when they arrive, lent memory until it is released. */
function lendingGatherer(
  lengthBytes: number | undefined,
  grantedBytesMax = Number.POSITIVE_INFINITY,
  placement?: BodyPlacement,
) {
  const moves = { count: 0, moveAway: () => {} };
  const memory = new ScriptedMemory(grantedBytesMax);
  const lease = memory.lease(idle);
  const pool = new BodyPool({ isPoisoned: true, after: () => {} });
  const lender: BodyLender = {
    lendBody: (bytes) => {
      const capacity = pool.capacityFor(bytes);
      if (capacity === undefined || !lease.hasRoomFor(capacity)) return undefined;
      lease.count(capacity);
      const buffer = pool.take(capacity);
      return new LentBody(buffer, () => {
        pool.giveBack(buffer);
        lease.give(capacity);
      });
    },
    lendPlaced: (wanted, bytes, _filledBytes, moveAway) => {
      const placed = lease.hasRoomFor(bytes) ? wanted.lend(bytes) : undefined;
      if (placed === undefined) return undefined;
      lease.count(bytes);
      moves.moveAway = moveAway;
      return new LentBody(Buffer.from(placed.bytes.buffer, placed.bytes.byteOffset, bytes), () => {
        placed.release();
        lease.give(bytes);
      });
    },
    onBodyMoved: () => {
      moves.count++;
    },
  };
  const gatherer = new ByteGatherer(lengthBytes, lease, lender, placement);
  const receive = (bytes: Buffer, isLent: boolean): void => {
    lease.count(bytes.length);
    if (!isLent) gatherer.push(bytes);
    else {
      const piece = Buffer.from(bytes);
      gatherer.pushLent(piece);
      piece.fill(0xdb);
    }
  };
  return { gatherer, memory, pool, receive, moves };
}

/** Memory of somebody else, which must not be written to when it is not lent. */
function placementOf(headBytes: number) {
  const state = { lentBytes: 0, bytes: Buffer.alloc(0) };
  const placement: BodyPlacement = {
    headBytes,
    lend: (bytes) => {
      state.lentBytes += bytes;
      state.bytes = Buffer.alloc(bytes, 0xee);
      return {
        bytes: state.bytes,
        release: () => {
          state.lentBytes -= bytes;
        },
      };
    },
  };
  return { placement, state };
}

test('a placed body has its head in memory of its own and the rest in that of the placement, counted once', () => {
  const pieces = fc.array(fc.tuple(fc.oneof(fc.nat(10), fc.nat(400_000)), fc.boolean()), {
    minLength: 1,
    maxLength: 12,
  });
  const moved = fc.option(fc.nat(11), { nil: undefined });
  fc.assert(
    fc.property(pieces, fc.nat(100_000), moved, fc.constantFrom(300_000, 1e9), (given, head, movedAt, grantedMax) => {
      const parts = given.map(([size], index) => Buffer.alloc(size, index + 1));
      const whole = Buffer.concat(parts);
      const headBytes = Math.min(head, whole.length);
      const { placement, state } = placementOf(headBytes);
      const { gatherer, memory, pool, receive, moves } = lendingGatherer(whole.length, grantedMax, placement);
      for (const [index, part] of parts.entries()) {
        if (index === movedAt) moves.moveAway();
        receive(part, given[index]?.[1] === true);
      }
      gatherer.settleNow();
      const { bytes, lent, tail } = gatherer.takeGathered();
      expect(Buffer.compare(Buffer.concat([bytes, tail ?? Buffer.alloc(0)]), whole)).toBe(0);
      if (tail !== undefined) {
        expect([bytes.length, tail.buffer]).toEqual([headBytes, state.bytes.buffer]);
        expect([memory.usedBytes, pool.lentBytes]).toEqual([whole.length, 0]);
      } else {
        expect(memory.usedBytes).toBe(lent === undefined ? whole.length : lent.bytes.length);
        expect([pool.lentBytes, state.lentBytes]).toEqual([lent?.bytes.length ?? 0, 0]);
      }
      // A body that is complete is not moved any more.
      moves.moveAway();
      lent?.release();
      expect([pool.lentBytes, state.lentBytes]).toEqual([0, 0]);
      expect(memory.usedBytes).toBe(tail !== undefined ? headBytes : lent === undefined ? whole.length : 0);
    }),
    { seed: 5, numRuns: 500 },
  );
});

test('a body is placed for what has arrived, not for what it announces, and leaves when it is given up', () => {
  const { placement, state } = placementOf(100);
  const { gatherer, memory, receive } = lendingGatherer(1_000_000, 1e9, placement);
  receive(Buffer.alloc(15_000, 1), true);
  expect(state.lentBytes).toBe(0);
  receive(Buffer.alloc(55_000, 2), true);
  expect(state.lentBytes).toBe(999_900);
  const target = gatherer.readTarget(1e9);
  expect([target?.bytes.buffer, target?.bytes.byteOffset]).toEqual([state.bytes.buffer, 69_900]);
  gatherer.clear();
  // What arrived and is not in lent memory is counted by the owner of the body, here its head.
  expect([state.lentBytes, memory.usedBytes]).toEqual([0, 100]);
});

test('a placed body that is moved away goes on in other memory, which a socket reads into from then on', () => {
  const { placement, state } = placementOf(100);
  const { gatherer, pool, receive, moves } = lendingGatherer(600_000, 1e9, placement);
  receive(Buffer.alloc(300_000, 1), true);
  const before = gatherer.readTarget(300_000);
  before?.lent.hold();
  moves.moveAway();
  // The socket still holds it.
  expect([moves.count, state.lentBytes]).toEqual([1, 599_900]);
  before?.lent.release();
  expect(state.lentBytes).toBe(0);
  const after = gatherer.readTarget(300_000);
  expect(gatherer.offsetIn(before?.lent as LentBody)).toBe(-1);
  after?.bytes.fill(2);
  gatherer.skipWritten(300_000);
  const { bytes, lent, tail } = gatherer.takeGathered();
  expect([tail, bytes.length, bytes[299_999], bytes[300_000], bytes[599_999]]).toEqual([undefined, 600_000, 1, 2, 2]);
  lent?.release();
  expect(pool.lentBytes).toBe(0);
});

test('pieces that are lent are joined as others are, and lent memory is counted once, until it is released', () => {
  const pieces = fc.array(fc.tuple(fc.oneof(fc.nat(10), fc.nat(400_000)), fc.boolean()), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, fc.boolean(), fc.constantFrom(0, 300_000, 1e9), (given, isKnown, grantedBytesMax) => {
      const parts = given.map(([size], index) => Buffer.alloc(size, index + 1));
      const whole = Buffer.concat(parts);
      const { gatherer, memory, pool, receive } = lendingGatherer(isKnown ? whole.length : undefined, grantedBytesMax);
      for (const [index, part] of parts.entries()) receive(part, given[index]?.[1] === true);
      gatherer.settleNow();
      const { bytes, lent } = gatherer.takeGathered();
      expect(Buffer.compare(bytes, whole)).toBe(0);
      expect(memory.usedBytes).toBe(lent === undefined ? whole.length : lent.bytes.length);
      expect(pool.lentBytes).toBe(lent?.bytes.length ?? 0);
      lent?.release();
      expect(memory.usedBytes).toBe(lent === undefined ? whole.length : 0);
      expect(pool.lentBytes).toBe(0);
    }),
    { seed: 4, numRuns: 300 },
  );
});

test('a body is lent memory for what has arrived, not for what it announces', () => {
  const { memory, receive } = lendingGatherer(1024 * 1024);
  for (let count = 0; count < 100; count++) receive(Buffer.alloc(10), false);
  expect(memory.usedBytes).toBe(64 * 1024);
  receive(Buffer.alloc(65_536), false);
  expect(memory.usedBytes).toBe(1024 * 1024);
});

test('a body for which no memory is lent is gathered as without a lender', () => {
  const { gatherer, memory, pool, receive } = lendingGatherer(600_000, 100_000);
  for (let piece = 0; piece < 10; piece++) receive(Buffer.alloc(60_000, piece), true);
  expect([pool.lentBytes, memory.usedBytes]).toEqual([0, 600_000]);
  expect(gatherer.take()).toHaveLength(600_000);
});

test('the memory of a body that is given up is released at once', () => {
  const { gatherer, memory, pool, receive } = lendingGatherer(5_000_000);
  receive(Buffer.alloc(200_000), true);
  receive(Buffer.alloc(2_000_000), true);
  expect(pool.lentBytes).toBeGreaterThan(2_000_000);
  gatherer.clear();
  expect([pool.lentBytes, memory.usedBytes]).toEqual([0, 0]);
});

test('a body in lent memory cannot be taken as if it were not', () => {
  const { gatherer, receive } = lendingGatherer(600_000);
  for (let piece = 0; piece < 10; piece++) receive(Buffer.alloc(60_000), true);
  expect(() => gatherer.take()).toThrow('taken without its lender');
});

test('bytes may be written where a body is gathered, as far as its memory and the announced length go', () => {
  const { gatherer, receive } = lendingGatherer(600_000);
  expect(gatherer.readTarget(600_000)).toBeUndefined();
  receive(Buffer.alloc(100_000, 1), true);
  const target = gatherer.readTarget(500_000);
  expect(target?.bytes).toHaveLength(500_000);
  target?.bytes.fill(2, 0, 490_000);
  gatherer.skipWritten(490_000);
  // The rest is not worth a read of its own.
  expect(gatherer.readTarget(10_000)).toBeUndefined();
  receive(Buffer.alloc(10_000, 3), false);
  const { bytes, lent } = gatherer.takeGathered();
  expect(lent).toBe(target?.lent);
  expect([bytes.length, bytes[99_999], bytes[100_000], bytes[589_999], bytes[590_000], bytes[599_999]]).toEqual([
    600_000, 1, 2, 2, 3, 3,
  ]);
});

test('memory belongs to a body until everyone who holds it has released it', () => {
  let released = 0;
  const lent = new LentBody(Buffer.alloc(1), () => released++);
  lent.hold();
  lent.release();
  expect(released).toBe(0);
  lent.release();
  expect(released).toBe(1);
  expect(() => lent.release()).toThrow('released twice');
  expect(() => lent.hold()).toThrow('held after its release');
  expect(released).toBe(1);
});
