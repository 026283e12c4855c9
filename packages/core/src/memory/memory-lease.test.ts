import { describe, expect, test } from 'vitest';
import { leaseOf, ledgerOf, takeFavour } from './testing/story.ts';

describe('a small lease', () => {
  test('is held in the part for small requests', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    expect(lease.hold(600)).toBe('granted');
    expect(lease.hold(400)).toBe('granted');
    expect([lease.heldBytes, ledger.smallUsed, ledger.sharedUsed]).toEqual([1000, 1000, 0]);
    lease.complete();
    lease.give(300);
    expect([lease.heldBytes, ledger.smallUsed]).toEqual([700, 700]);
    lease.end();
    lease.end();
    expect([lease.heldBytes, ledger.usedBytes]).toEqual([0, 0]);
  });

  test('moves to the shared part with all it holds when it grows', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    lease.hold(1000);
    expect(lease.hold(1)).toBe('granted');
    expect([ledger.smallUsed, ledger.sharedUsed]).toEqual([0, 1001]);
  });

  test('moves to the shared part when its owner has its share of small ones', () => {
    const ledger = ledgerOf();
    const connection = ledger.connection('a');
    let moved = 0;
    for (let index = 0; index < 10; index++) {
      leaseOf(connection)[0].hold(1000);
      if (ledger.sharedUsed > 0) moved += 1;
    }
    // 0.38 of 10,000 bytes.
    expect([ledger.smallUsed, ledger.sharedUsed, moved]).toEqual([3000, 7000, 7]);
    const [other] = leaseOf(ledger.connection('b'));
    expect(other.hold(1000)).toBe('granted');
    expect(ledger.smallUsed).toBe(4000);
  });

  test('is small again when a stream has released a large message', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    lease.hold(500);
    lease.hold(9000);
    lease.give(9000);
    expect([ledger.smallUsed, ledger.sharedUsed]).toEqual([500, 0]);
  });

  test('that became large without room in the small part is small as soon as there is some', () => {
    const ledger = ledgerOf();
    const connection = ledger.connection('a');
    const fillers = Array.from({ length: 3 }, () => leaseOf(connection)[0]);
    for (const filler of fillers) filler.hold(1000);
    const [lease] = leaseOf(connection);
    lease.hold(900);
    expect(ledger.sharedUsed).toBe(900);
    fillers[0]?.end();
    expect(lease.hold(50)).toBe('granted');
    expect([ledger.smallUsed, ledger.sharedUsed]).toEqual([2950, 0]);
  });
});

describe('give', () => {
  test('releases no more than is held, also after the end', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    lease.hold(5000);
    lease.give(6000);
    lease.give(1);
    lease.end();
    lease.give(5000);
    expect([lease.heldBytes, ledger.usedBytes]).toEqual([0, 0]);
  });

  test('releases from the shared part before the reserve', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    favoured.hold(398_000);
    expect(favoured.hold(10_000)).toBe('waiting');
    expect([ledger.completionUsed, ledger.sharedUsed]).toEqual([400_000, 237_000]);
    favoured.give(15_000);
    expect([ledger.completionUsed, ledger.sharedUsed]).toEqual([395_000, 227_000]);
  });
});

describe('keep', () => {
  test('replaces what a small lease holds', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    lease.hold(100);
    lease.keep(300);
    expect([lease.heldBytes, ledger.smallUsed]).toEqual([300, 300]);
    lease.keep(20);
    expect([lease.heldBytes, ledger.smallUsed]).toEqual([20, 20]);
    lease.keep(5000);
    expect([lease.heldBytes, ledger.smallUsed, ledger.sharedUsed]).toEqual([5000, 0, 5000]);
    lease.keep(0);
    expect(ledger.usedBytes).toBe(0);
  });

  test('ends the wait of a lease, which is not told', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [lease, holder] = leaseOf(ledger.connection('a'));
    lease.hold(145_000);
    expect(lease.hold(30_000)).toBe('waiting');
    lease.keep(90_000);
    expect([lease.isWaiting, holder.toldCount, ledger.waitingCount]).toEqual([false, 0, 0]);
    expect(ledger.sharedUsed).toBe(317_000);
  });

  test('passes the favour on when the answer is within the share', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    const [waiting, holder] = leaseOf(ledger.connection('a'));
    waiting.hold(145_000);
    waiting.hold(30_000);
    favoured.keep(100);
    expect([ledger.completionUsed, ledger.smallUsed, holder.toldCount]).toEqual([175_000, 100, 1]);
  });
});

describe('hasRoomFor', () => {
  test('tells what hold would do', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    for (const bytes of [500, 5000, 100_000, 146_000, 150_000, 400_000]) {
      const [lease] = leaseOf(ledger.connection(`owner of ${bytes}`));
      const hasRoom = lease.hasRoomFor(bytes);
      expect(lease.hold(bytes) === 'granted', `${bytes}`).toBe(hasRoom);
      lease.end();
    }
  });

  test('of a favoured lease is what is set aside', () => {
    const favoured = takeFavour(ledgerOf());
    expect(favoured.hasRoomFor(398_000)).toBe(true);
    expect(favoured.hasRoomFor(400_000)).toBe(false);
  });
});

test('count holds without asking', () => {
  const ledger = ledgerOf();
  const [lease] = leaseOf(ledger.connection('a'));
  lease.count(400);
  expect(ledger.smallUsed).toBe(400);
  lease.count(900_000);
  lease.count(50_000);
  expect([ledger.sharedUsed, lease.heldBytes, lease.isWaiting]).toEqual([950_400, 950_400, false]);
});

test('an ended lease can be used again', () => {
  const ledger = ledgerOf();
  takeFavour(ledger);
  const [lease] = leaseOf(ledger.connection('a'));
  lease.hold(900_000);
  lease.end();
  expect(lease.hold(100)).toBe('granted');
  expect(ledger.smallUsed).toBe(100);
});
