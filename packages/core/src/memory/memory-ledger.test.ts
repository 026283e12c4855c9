import { expect, test } from 'vitest';
import { leaseOf, ledgerOf, takeFavour } from './testing/story.ts';

test('an owner is known while it has a connection or holds anything, and then forgotten', () => {
  const ledger = ledgerOf();
  const [first, second] = [ledger.connection('a'), ledger.connection('a')];
  const [lease] = leaseOf(second);
  lease.hold(10);
  expect(ledger.ownerCount).toBe(1);
  first.close();
  second.close();
  expect(ledger.ownerCount).toBe(1);
  lease.end();
  expect(ledger.ownerCount).toBe(0);
});

test('a connection is closed once', () => {
  const ledger = ledgerOf();
  const [first, second] = [ledger.connection('a'), ledger.connection('a')];
  first.close();
  first.close();
  expect(ledger.ownerCount).toBe(1);
  second.close();
  expect(ledger.ownerCount).toBe(0);
});

test('a guest is an owner only while it holds something', () => {
  const ledger = ledgerOf();
  const guest = ledger.guest('a');
  expect(ledger.ownerCount).toBe(0);
  const [lease] = leaseOf(guest);
  lease.hold(10);
  expect(ledger.ownerCount).toBe(1);
  lease.give(10);
  expect(ledger.ownerCount).toBe(0);
  lease.hold(0);
  lease.end();
  expect(ledger.ownerCount).toBe(0);
});

test('guests and connections of one name are one owner, whoever was forgotten meanwhile', () => {
  const ledger = ledgerOf();
  const early = ledger.guest('a');
  const connection = ledger.connection('a');
  const [lease] = leaseOf(connection);
  lease.hold(10);
  const [guest] = leaseOf(early);
  guest.hold(5);
  expect(early.owner).toBe(connection.owner);
  expect(connection.owner.smallBytes).toBe(15);
  expect(ledger.ownerCount).toBe(1);
});

test('an owner with only a favoured lease is known, and its end removes no owner of the same name', () => {
  const ledger = ledgerOf();
  const connection = ledger.connection('a');
  const [filler] = leaseOf(connection);
  filler.hold(227_000);
  const [favoured] = leaseOf(connection);
  favoured.hold(2000);
  filler.end();
  connection.close();
  expect(ledger.completionUsed).toBe(2000);
  expect(ledger.ownerCount).toBe(1);
  const again = ledger.connection('a');
  expect(again.owner).toBe(connection.owner);
  favoured.end();
  expect(ledger.ownerCount).toBe(1);
  again.close();
  expect(ledger.ownerCount).toBe(0);
});

test('a closed connection that holds something again joins the owner that has its name by then', () => {
  const ledger = ledgerOf();
  const closed = ledger.connection('a');
  closed.close();
  const open = ledger.connection('a');
  const [lease] = leaseOf(closed);
  lease.end();
  expect(ledger.ownerCount).toBe(1);
  lease.hold(10);
  expect(open.owner.smallBytes).toBe(10);
  open.close();
  lease.end();
  expect(ledger.ownerCount).toBe(0);
});

test('200,000 owners that come and go leave nothing behind', () => {
  const ledger = ledgerOf();
  for (let index = 0; index < 200_000; index++) {
    const [lease] = leaseOf(ledger.guest(`owner-${index}`));
    lease.hold(100);
    lease.end();
  }
  expect(ledger.ownerCount).toBe(0);
  expect(ledger.usedBytes).toBe(0);
});

test('what is used is the sum of the three parts', () => {
  const ledger = ledgerOf();
  takeFavour(ledger);
  const [small] = leaseOf(ledger.connection('small'));
  small.hold(700);
  expect(ledger.sharedUsed).toBe(227_000);
  expect(ledger.completionUsed).toBe(2000);
  expect(ledger.smallUsed).toBe(700);
  expect(ledger.usedBytes).toBe(229_700);
});
