import { expect, test, vi } from 'vitest';
import { leaseMsMax, leaseMsMin } from '../metadata.ts';
import { type StoreHarness, shownEntry, Told, valueBytes } from './subject.ts';

const life = leaseMsMin;

export function leaseTests(bench: StoreHarness): void {
  test('entries under a lease are removed when it expires, and watches are told', async () => {
    const { store, subject } = bench;
    const lease = await store.grantLease(life);
    await store.put('a', valueBytes('1'), { lease });
    await store.put('b', valueBytes('1'), { lease });
    await store.put('c', valueBytes('stays'));
    const told = new Told();
    await store.watch('', told.listener);
    await subject.passTime(life - 1);
    expect((await store.list('')).map(shownEntry)).toEqual(['a=1', 'b=1', 'c=stays']);
    await subject.passTime(1);
    expect((await store.list('')).map(shownEntry)).toEqual(['c=stays']);
    await vi.waitFor(() => expect(told.lines.slice(3).sort()).toEqual(['a gone', 'b gone']), { timeout: 20_000 });
  });

  test('watches are told although nobody reads or writes', async () => {
    const { store, subject } = bench;
    const lease = await store.grantLease(life);
    await store.put('a', valueBytes('1'), { lease });
    const told = new Told();
    await store.watch('', told.listener);
    await subject.passTime(life);
    await vi.waitFor(() => expect(told.lines).toEqual(['a=1', 'a gone']), { timeout: 20_000 });
  });

  test('a renewed lease lasts its full time again; a late renewal returns false', async () => {
    const { store, subject } = bench;
    const lease = await store.grantLease(life);
    await store.put('a', valueBytes('1'), { lease });
    for (let round = 0; round < 3; round++) {
      await subject.passTime(life / 2);
      expect(await lease.renew()).toBe(true);
    }
    await subject.passTime(life / 2);
    expect(await store.get('a')).toBeDefined();
    await subject.passTime(life / 2);
    expect(await lease.renew()).toBe(false);
    expect(await store.get('a')).toBeUndefined();
    await expect(store.put('b', valueBytes('1'), { lease })).rejects.toEqual(
      expect.objectContaining({ name: 'StoreError', code: 'lease-expired' }),
    );
  });

  test('renewing changes no revision', async () => {
    const { store } = bench;
    const lease = await store.grantLease(life);
    const revision = (await store.put('a', valueBytes('1'), { lease })) as number;
    await lease.renew();
    expect((await store.get('a'))?.revision).toBe(revision);
  });

  test('revoking a lease removes the entries under it, and nothing else', async () => {
    const { store } = bench;
    const [first, second] = [await store.grantLease(life), await store.grantLease(life)];
    await store.put('a', valueBytes('1'), { lease: first });
    await store.put('b', valueBytes('1'), { lease: second });
    await first.revoke();
    expect((await store.list('')).map(shownEntry)).toEqual(['b=1']);
    expect(await first.renew()).toBe(false);
    await first.revoke();
  });

  test('the last put decides under which lease a value is', async () => {
    const { store, subject } = bench;
    const lease = await store.grantLease(life);
    await store.put('freed', valueBytes('1'), { lease });
    await store.put('freed', valueBytes('2'));
    await store.put('taken', valueBytes('1'));
    await store.put('taken', valueBytes('2'), { lease });
    await subject.passTime(life);
    expect((await store.list('')).map(shownEntry)).toEqual(['freed=2']);
  });

  test('an absent key may be put again after its lease ran out', async () => {
    const { store, subject } = bench;
    const lease = await store.grantLease(life);
    const revision = (await store.put('a', valueBytes('1'), { lease, expected: 'absent' })) as number;
    expect(await store.put('a', valueBytes('2'), { expected: 'absent' })).toBeUndefined();
    await subject.passTime(life);
    expect(await store.put('a', valueBytes('2'), { expected: revision })).toBeUndefined();
    expect(await store.put('a', valueBytes('2'), { expected: 'absent' })).toBeGreaterThan(revision);
  });

  test('leases of another store and lives out of range are refused', async () => {
    const { store } = bench;
    const invalid = expect.objectContaining({ name: 'StoreError', code: 'lease-invalid' });
    for (const lifeMs of [0, life - 1, leaseMsMax + 1, 1000.5, Number.NaN]) {
      await expect(store.grantLease(lifeMs), `${lifeMs}`).rejects.toEqual(invalid);
    }
    const foreign = { renew: async () => true, revoke: async () => {} };
    await expect(store.put('a', valueBytes('1'), { lease: foreign })).rejects.toEqual(invalid);
  });

  test('a lease runs on while the store is closed', async () => {
    const { store, subject } = bench;
    const [short, long] = [await store.grantLease(life), await store.grantLease(4 * life)];
    await store.put('short', valueBytes('1'), { lease: short });
    await store.put('long', valueBytes('1'), { lease: long });
    await store.put('stays', valueBytes('1'));
    await store.close();
    await subject.passTime(2 * life);
    const again = await bench.reopen();
    expect((await again.list('')).map(({ key }) => key)).toEqual(subject.isDurable ? ['long', 'stays'] : []);
    const told = new Told();
    await again.watch('', told.listener);
    await subject.passTime(2 * life);
    const lines = subject.isDurable ? ['long=1', 'stays=1', 'long gone'] : [];
    await vi.waitFor(() => expect(told.lines).toEqual(lines), { timeout: 20_000 });
  });
}
