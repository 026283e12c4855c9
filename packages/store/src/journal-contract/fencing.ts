import { expect, test } from 'vitest';
import type { StreamLog } from '../journal.ts';
import { storeRefusal } from '../testing/store-refusal.ts';
import { created, entriesOf, isFenced, type JournalHarness, shownLog, taken, whenFenced } from './journal-subject.ts';

const refusedAsFenced = storeRefusal('journal-fenced', 'has taken over');

export function fencingTests(harness: JournalHarness): void {
  test('a take-over raises the epoch; the older owner is told, and nothing it does takes effect', async () => {
    const { journal } = harness;
    const stale = await created(journal, 's');
    await stale.append(entriesOf('one', 'two'));
    expect(await isFenced(journal, stale)).toBe(false);
    const owner = await taken(journal, 's');
    expect(owner.epoch).toBeGreaterThan(stale.epoch);
    await whenFenced(stale);
    await expect(stale.append(entriesOf('stale'))).rejects.toEqual(refusedAsFenced);
    await expect(stale.append([])).rejects.toEqual(refusedAsFenced);
    stale.trim(2, entriesOf('stale'));
    await expect(stale.close({ remove: true })).rejects.toEqual(refusedAsFenced);
    expect(await owner.append(entriesOf('three'))).toBe(3);
    expect(shownLog(await journal.peek('s'))).toBe('0 [] one two three');
    expect(await isFenced(journal, owner)).toBe(false);
  });

  test('an append that was requested before a take-over is in the log that it returns, or is refused', async () => {
    const { journal } = harness;
    const stale = await created(journal, 's');
    const before = stale.append(entriesOf('before'));
    const taking = journal.takeOver('s', 'b');
    const after = stale.append(entriesOf('after'));
    const outcome = await Promise.allSettled([before, after]);
    const kept = ['before', 'after'].filter((_, index) => outcome[index]?.status === 'fulfilled');
    expect(shownLog((await taking) as StreamLog)).toBe(`0 [] ${kept.join(' ')}`.trimEnd());
  });

  test('of many that take over at once each later one fences the earlier', async () => {
    const { journal } = harness;
    await created(journal, 's');
    const attempts = Array.from({ length: 8 }, (_, index) => taken(journal, 's', `owner-${index}`));
    const logs = await Promise.all(attempts);
    const byEpoch = [...logs].sort((one, other) => one.epoch - other.epoch);
    expect(new Set(logs.map(({ epoch }) => epoch)).size).toBe(8);
    const winner = byEpoch.pop() as StreamLog;
    for (const log of byEpoch) await expect(log.append(entriesOf('x'))).rejects.toEqual(refusedAsFenced);
    expect(await winner.append(entriesOf('one'))).toBe(1);
    expect(await journal.peek('s')).toMatchObject({ epoch: winner.epoch, last: 1 });
  });

  test('the same owner fences itself: each take-over is an ownership of its own', async () => {
    const { journal } = harness;
    const first = await created(journal, 's', 'same');
    const second = await taken(journal, 's', 'same');
    await expect(first.append(entriesOf('x'))).rejects.toEqual(refusedAsFenced);
    expect(await second.append(entriesOf('one'))).toBe(1);
  });

  test('a take-over that expects another epoch, or a log that is not there, changes nothing', async () => {
    const { journal } = harness;
    expect(await journal.takeOver('s', 'a')).toBeUndefined();
    expect(await journal.takeOver('s', 'a', { create: true, expectedEpoch: 7 })).toBeUndefined();
    expect(await journal.peek('s')).toBeUndefined();
    const owner = (await journal.takeOver('s', 'a', { create: true, expectedEpoch: 0 })) as StreamLog;
    expect(await journal.takeOver('s', 'b', { create: true, expectedEpoch: 0 })).toBeUndefined();
    expect(await journal.takeOver('s', 'b', { expectedEpoch: owner.epoch - 1 })).toBeUndefined();
    expect(await owner.append(entriesOf('one'))).toBe(1);
    const next = (await journal.takeOver('s', 'b', { expectedEpoch: owner.epoch })) as StreamLog;
    expect(shownLog(next)).toBe('0 [] one');
    await expect(owner.append(entriesOf('two'))).rejects.toEqual(refusedAsFenced);
  });

  test('the epoch of an id rises over a removal, so an owner of its earlier life stays fenced', async () => {
    const { journal } = harness;
    const stale = await created(journal, 's');
    await stale.append(entriesOf('old'));
    const remover = await taken(journal, 's');
    await remover.close({ remove: true });
    const owner = await created(journal, 's');
    expect(owner.epoch).toBeGreaterThan(remover.epoch);
    expect(shownLog(owner)).toBe('0 []');
    await expect(stale.append(entriesOf('stale'))).rejects.toEqual(refusedAsFenced);
    expect(await owner.append(entriesOf('new'))).toBe(1);
    const again = await harness.reopen();
    const next = await created(again, 's');
    expect(shownLog(next)).toBe(harness.subject.isDurable ? '0 [] new' : '0 []');
    if (harness.subject.isDurable) expect(next.epoch).toBeGreaterThan(owner.epoch);
  });
}
