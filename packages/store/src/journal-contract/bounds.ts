import { expect, test } from 'vitest';
import type { StreamLog } from '../journal.ts';
import { storeRefusal } from '../testing/store-refusal.ts';
import { created, entriesOf, isFenced, type JournalHarness, shownLog, taken, whenFenced } from './journal-subject.ts';

const full = storeRefusal('journal-full', 'the maximum is');
const kilobyte = (): readonly Uint8Array[] => [new Uint8Array(1024)];

/** Appends until it is refused; returns how many were taken. */
async function fill(log: StreamLog): Promise<number> {
  for (let count = 0; ; count++) {
    try {
      await log.append(kilobyte());
    } catch (error) {
      expect(error).toEqual(full);
      return count;
    }
  }
}

export function boundTests(harness: JournalHarness): void {
  test.each([
    ['bytes', { logBytesMax: 64 * 1024 }, 40, 64],
    ['entries', { logEntriesMax: 100 }, 84, 84],
  ])('a log has a maximum of %s, and room is kept for its ending', async (_, bounds, atLeast, atMost) => {
    const journal = await harness.reopen(bounds);
    const log = await created(journal, 's');
    const taken = await fill(log);
    expect(taken).toBeGreaterThanOrEqual(atLeast);
    expect(taken).toBeLessThanOrEqual(atMost);
    expect(await log.append(kilobyte(), { isEnding: true })).toBe(taken + 1);
    const other = await created(journal, 'other');
    expect(await other.append(kilobyte())).toBe(1);
  });

  test('after a refusal nothing but an ending is taken, so no entry stands where a refused one is missing', async () => {
    const journal = await harness.reopen({ logBytesMax: 64 * 1024 });
    const log = await created(journal, 's');
    const outcomes = await Promise.allSettled([
      log.append(entriesOf('one')),
      log.append([new Uint8Array(100_000)]),
      log.append(entriesOf('two')),
      log.append(entriesOf('end'), { isEnding: true }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await log.append([])).toBe(2);
    expect(shownLog(await taken(journal, 's'))).toBe('0 [] one end');
  });

  test('what is in flight counts', async () => {
    const journal = await harness.reopen({ logBytesMax: 64 * 1024 });
    const log = await created(journal, 's');
    const outcomes = await Promise.allSettled(Array.from({ length: 80 }, () => log.append(kilobyte())));
    const kept = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(kept).toBeLessThan(64);
    expect(await log.append([])).toBe(kept);
  });

  test('a full journal opens no log and takes no entry, and can still be emptied', async () => {
    const journal = await harness.reopen({ bytesMax: 128 * 1024 });
    const log = await created(journal, 's');
    const other = await created(journal, 'other');
    const count = await fill(log);
    await expect(journal.takeOver('third', 'a', { create: true })).rejects.toEqual(full);
    expect(await journal.peek('third')).toBeUndefined();
    await expect(other.append(kilobyte())).rejects.toEqual(full);
    expect(await other.append(entriesOf('failed'), { isEnding: true })).toBe(1);
    expect(journal.usage().bytes).toBeLessThanOrEqual(journal.usage().bytesMax);
    log.trim(count, entriesOf('opening'));
    await log.append([]);
    const third = await created(journal, 'third');
    expect(await third.append(kilobyte())).toBe(1);
    await (await taken(journal, 's')).close({ remove: true });
    await other.close({ remove: true });
    await third.close({ remove: true });
    expect(journal.usage()).toMatchObject({ logs: 0, bytes: 0 });
  });

  test('a snapshot that is too large changes nothing; the next append says so', async () => {
    const journal = await harness.reopen({ logBytesMax: 64 * 1024 });
    const log = await created(journal, 's');
    await log.append(entriesOf('one', 'two'));
    log.trim(1, [new Uint8Array(100_000)]);
    expect(await log.append([])).toBe(2);
    await expect(log.append(entriesOf('three'))).rejects.toEqual(full);
    expect(shownLog(await taken(journal, 's'))).toBe('0 [] one two');
  });

  test('a log expires at its age, also while its owner is idle', async () => {
    const journal = await harness.reopen({ logAgeMsMax: 60_000 });
    const { subject } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('one'));
    expect(log.expiresAtMs).toBeLessThanOrEqual(subject.now() + 60_000);
    await subject.passTime(59_000);
    expect(shownLog(await journal.peek('s'))).toBe('0 [] one');
    await subject.passTime(1000);
    expect(await journal.peek('s')).toBeUndefined();
    expect(await journal.list()).toEqual([]);
    expect(await journal.takeOver('s', 'b')).toBeUndefined();
    await expect(log.append(entriesOf('two'))).rejects.toEqual(storeRefusal('journal-fenced', 'expired'));
    await subject.passTime(10_000);
    expect(await isFenced(journal, log)).toBe(true);
    expect(journal.usage()).toMatchObject({ logs: 0, bytes: 0 });
  });

  test('an id can be used again as soon as its log has expired', async () => {
    const journal = await harness.reopen({ logAgeMsMax: 60_000 });
    const log = await created(journal, 's');
    await log.append(entriesOf('old'));
    await harness.subject.passTime(60_000);
    const next = await created(journal, 's');
    expect(shownLog(next)).toBe('0 []');
    expect(next.epoch).toBeGreaterThan(log.epoch);
    await whenFenced(log);
    expect(await next.append(entriesOf('new'))).toBe(1);
  });

  test('a log may be given an earlier end when it is created or closed, never a later one', async () => {
    const { journal, subject } = harness;
    const now = subject.now();
    const short = (await journal.takeOver('short', 'a', { create: true, expiresAtMs: now + 5000 })) as StreamLog;
    const long = (await journal.takeOver('long', 'a', { create: true, expiresAtMs: now + 10 ** 12 })) as StreamLog;
    expect(short.expiresAtMs).toBe(now + 5000);
    expect(long.expiresAtMs).toBeLessThan(now + 10 ** 12);
    const { expiresAtMs } = long;
    await long.close({ expiresAtMs: now + 10 ** 12 });
    expect((await journal.peek('long'))?.expiresAtMs).toBe(expiresAtMs);
    await (await taken(journal, 'long')).close({ expiresAtMs: now + 20_000 });
    await subject.passTime(5000);
    expect((await journal.list()).map(({ stream }) => stream)).toEqual(['long']);
    await subject.passTime(15_000);
    expect(await journal.list()).toEqual([]);
  });

  test('thousands of logs that expire are removed, however many sweeps that takes', async () => {
    const journal = await harness.reopen({ logAgeMsMax: 60_000 });
    const { subject } = harness;
    const logs = await Promise.all(Array.from({ length: 300 }, (_, index) => created(journal, `s${index}`)));
    await Promise.all(logs.map((log) => log.append(entriesOf('one', 'two'))));
    await subject.passTime(60_000);
    expect(await journal.list()).toEqual([]);
    for (let sweep = 0; sweep < 12 && journal.usage().logs > 0; sweep++) {
      await subject.passTime(5000);
      await journal.list();
    }
    expect(journal.usage()).toMatchObject({ logs: 0, bytes: 0 });
  });
}
