import { describe, expect, test } from 'vitest';
import type { LedgerLease } from './memory-lease.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import { leaseOf, ledgerOf, type ToldHolder, takeFavour } from './testing/story.ts';

/** A lease that waits, of an owner of its own that holds all of its share and so much above it. */
function waitingLease(ledger: MemoryLedger, name: string, overdraft = 8000): [LedgerLease, ToldHolder] {
  const connection = ledger.connection(name);
  const [lease, holder] = leaseOf(connection);
  let held = 0;
  for (; lease.hasRoomFor(2000); held += 1000) lease.hold(1000);
  expect(held).toBeGreaterThan(0);
  expect(lease.hold(overdraft)).toBe('waiting');
  return [lease, holder];
}

describe('waiting', () => {
  test('a waiting lease is woken once, when enough is released', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [other] = leaseOf(ledger.connection('other'));
    other.hold(100_000);
    const [lease, holder] = waitingLease(ledger, 'a');
    other.give(1000);
    expect([lease.isWaiting, holder.toldCount]).toEqual([true, 0]);
    other.end();
    expect([lease.isWaiting, holder.toldCount]).toEqual([false, 1]);
    expect(lease.hold(1000)).toBe('granted');
  });

  test('a lease continues with a promise that only it can use', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [other] = leaseOf(ledger.connection('other'));
    other.hold(100_000);
    const [lease] = waitingLease(ledger, 'a');
    const { heldBytes } = lease;
    other.end();
    expect(ledger.sharedUsed).toBe(227_000 + heldBytes + 1000);
    lease.hold(400);
    expect(ledger.sharedUsed).toBe(227_000 + heldBytes + 1000);
    lease.complete();
    expect(ledger.sharedUsed).toBe(227_000 + heldBytes + 400);
  });

  test('no more leases continue than there is room for', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const connection = ledger.connection('a');
    const [filler] = leaseOf(connection);
    while (filler.hasRoomFor(1001)) filler.hold(1000);
    const waiting = Array.from({ length: 20 }, () => leaseOf(connection));
    for (const [lease] of waiting) expect(lease.hold(1001)).toBe('waiting');
    filler.give(28_000);
    const told = waiting.filter(([, { toldCount }]) => toldCount === 1).length;
    expect(told).toBeGreaterThan(2);
    expect(told).toBeLessThan(10);
    for (const [lease, holder] of waiting) if (holder.toldCount === 1) expect(lease.hold(999)).toBe('granted');
    expect(ledger.waitingCount).toBe(20 - told);
  });

  test('the lease that holds less is woken first', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [other] = leaseOf(ledger.connection('other'));
    other.hold(140_000);
    const order: string[] = [];
    const [, heavy] = waitingLease(ledger, 'heavy', 8000);
    const [, light] = waitingLease(ledger, 'light', 3000);
    heavy.onTold = () => order.push('heavy');
    light.onTold = () => order.push('light');
    other.end();
    expect(order).toEqual(['light', 'heavy']);
  });

  test('too much above the share is refused, and counted until the lease ends', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [lease, holder] = waitingLease(ledger, 'a', 30_000);
    const used = ledger.sharedUsed;
    expect(lease.hold(30_000)).toBe('refused');
    expect([ledger.sharedUsed, ledger.waitingCount, lease.isWaiting]).toEqual([used + 30_000, 0, false]);
    expect(lease.hold(1)).toBe('refused');
    lease.give(lease.heldBytes - 10);
    expect(lease.hold(1)).toBe('refused');
    // Another lease of the owner may not overdraw either until it has ended.
    lease.end();
    expect([ledger.sharedUsed, holder.toldCount]).toEqual([227_000, 0]);
    expect(waitingLease(ledger, 'a', 30_000)[0].isWaiting).toBe(true);
  });

  test('a waiting lease that becomes small continues', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [lease, holder] = waitingLease(ledger, 'a');
    lease.give(lease.heldBytes - 500);
    expect([lease.isWaiting, holder.toldCount, ledger.smallUsed]).toEqual([false, 1, 500]);
  });

  test('a holder that throws when it is woken does not keep others from being woken later', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    const [, broken] = waitingLease(ledger, 'broken');
    broken.onTold = () => {
      throw new Error('broken holder');
    };
    const [, holder] = waitingLease(ledger, 'a');
    expect(() => favoured.end()).toThrow('broken holder');
    ledger.connection('b').lease(broken).hold(2000);
    const [other] = leaseOf(ledger.connection('c'));
    other.hold(2000);
    other.end();
    expect(holder.toldCount).toBe(1);
  });
});

describe('favour', () => {
  test('goes to the first lease above its share, and all that it holds moves to the reserve', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    lease.hold(227_000);
    expect(lease.hold(2000)).toBe('granted');
    expect([ledger.sharedUsed, ledger.completionUsed]).toEqual([0, 229_000]);
    expect(lease.hold(171_000)).toBe('granted');
    expect(ledger.completionUsed).toBe(400_000);
  });

  test('a lease that holds more than the reserve is not favoured', () => {
    const ledger = ledgerOf();
    const [lease] = leaseOf(ledger.connection('a'));
    expect(lease.hold(400_001)).toBe('refused');
    expect(ledger.completionUsed).toBe(0);
  });

  test('is passed on when a complete lease is within its share, not before', () => {
    const ledger = ledgerOf();
    const [body] = leaseOf(ledger.connection('a'));
    body.hold(300_000);
    expect(ledger.completionUsed).toBe(300_000);
    const [waiting, holder] = leaseOf(ledger.connection('b'));
    waiting.hold(227_000);
    waiting.hold(3000);
    body.complete();
    expect([holder.toldCount, ledger.completionUsed]).toEqual([0, 300_000]);
    body.give(200_000);
    expect([holder.toldCount, ledger.completionUsed]).toEqual([1, 230_000]);
    expect(ledger.sharedUsed).toBe(100_000);
  });

  test('ends with a lease that holds nothing more, whatever its owner holds', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    // It has more small requests than its share since others have some.
    for (let index = 0; index < 5; index++) leaseOf(favoured.connection)[0].count(1000);
    for (const name of ['b', 'c']) leaseOf(ledger.connection(name))[0].hold(1000);
    const [, holder] = waitingLease(ledger, 'a');
    favoured.give(2000);
    expect(holder.toldCount).toBe(1);
  });

  test('owners take turns, however many leases of one wait', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    const flood = ledger.connection('flood');
    const [filler] = leaseOf(flood);
    while (filler.hasRoomFor(1001)) filler.hold(1000);
    const order: string[] = [];
    const wait = (name: string, connection = ledger.connection(name)): LedgerLease => {
      const [lease, holder] = leaseOf(connection);
      while (connection !== flood && lease.hasRoomFor(1000)) lease.hold(1000);
      lease.hold(1001);
      holder.onTold = () => {
        order.push(name);
        lease.end();
      };
      return lease;
    };
    for (let index = 0; index < 5; index++) wait('flood', flood);
    wait('honest');
    favoured.end();
    expect(order.slice(0, 2)).toEqual(['flood', 'honest']);
  });
});

describe('holders that change leases while they are woken', () => {
  test('may end their own lease or another that waits', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    const [first, firstHolder] = waitingLease(ledger, 'a');
    const [second, secondHolder] = waitingLease(ledger, 'b');
    firstHolder.onTold = () => {
      second.end();
      first.end();
    };
    favoured.end();
    expect([firstHolder.toldCount, secondHolder.toldCount]).toEqual([1, 0]);
    expect([ledger.sharedUsed, ledger.waitingCount, ledger.completionUsed]).toEqual([227_000, 0, 0]);
  });

  test('bytes released while being woken wake the next lease', () => {
    const ledger = ledgerOf();
    const favoured = takeFavour(ledger);
    const [first, firstHolder] = waitingLease(ledger, 'a');
    const [, secondHolder] = waitingLease(ledger, 'b');
    firstHolder.onTold = () => first.give(100_000);
    favoured.end();
    expect([firstHolder.toldCount, secondHolder.toldCount]).toEqual([1, 1]);
  });

  test('may take more, and wait again', () => {
    const ledger = ledgerOf();
    takeFavour(ledger);
    const [other] = leaseOf(ledger.connection('other'));
    other.hold(20_000);
    const [lease, holder] = waitingLease(ledger, 'a', 3000);
    holder.onTold = () => expect(lease.hold(20_000)).toBe('waiting');
    other.end();
    expect([holder.toldCount, lease.isWaiting, ledger.waitingCount]).toEqual([1, true, 1]);
  });
});
