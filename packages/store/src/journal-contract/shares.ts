/** No account can deny others more than its share of the journal. */
import { expect, test } from 'vitest';
import type { Journal, StreamLog } from '../journal.ts';
import { storeRefusal } from '../testing/store-refusal.ts';
import { entriesOf, type JournalHarness } from './journal-subject.ts';

const bytesMax = 1024 * 1024;
const full = storeRefusal('journal-full', 'the streams of this caller would have');
const kilobytes = (count: number): readonly Uint8Array[] => [new Uint8Array(count * 1024)];

async function createdFor(journal: Journal, account: string, stream: string): Promise<StreamLog> {
  return (await journal.takeOver(stream, 'a', { create: true, account })) as StreamLog;
}

/** Appends as an owner should, until the account has its share; returns the bytes. */
async function fillShare(log: StreamLog): Promise<number> {
  let bytes = 0;
  while (log.hasShareFor(0)) {
    await log.append(kilobytes(4));
    bytes += 4096;
  }
  return bytes;
}

/** Opens and ends so many streams of 8 KiB. */
async function endMany(harness: JournalHarness, account: string, count: number): Promise<void> {
  const { journal, subject } = harness;
  for (let index = 0; index < count; index++) {
    const log = await createdFor(journal, account, `${account}-${index}`);
    await log.append(kilobytes(8));
    await log.close({ entriesExpireAtMs: subject.now() + 120_000 });
  }
}

export function shareTests(harness: JournalHarness): void {
  const streamsOf = async (account: string): Promise<readonly string[]> =>
    (await harness.journal.list()).filter((log) => log.account === account).map(({ stream }) => stream);

  test('one account holds 38 %, ten leave an eleventh, and whoever comes later still has a share', async () => {
    const journal = await harness.reopen({ bytesMax });
    const size = bytesMax * 0.9;
    const first = await fillShare(await createdFor(journal, 'first', 'first'));
    expect(first / size).toBeGreaterThan(0.36);
    expect(first / size).toBeLessThan(0.4);
    for (let other = 2; other <= 10; other++) await fillShare(await createdFor(journal, `o${other}`, `o${other}`));
    const free = size - journal.usage().bytes;
    expect(free).toBeGreaterThan(size / 11 - 8192);
    const last = await createdFor(journal, 'last', 'last');
    expect(last.hasShareFor(2048)).toBe(true);
    expect(await last.append(kilobytes(2))).toBe(1);
  });

  test('an account that has its share opens no more logs, and what it opened can end', async () => {
    const journal = await harness.reopen({ bytesMax });
    const log = await createdFor(journal, 'greedy', 'one');
    await fillShare(log);
    await expect(createdFor(journal, 'greedy', 'two')).rejects.toEqual(full);
    expect(await log.append(entriesOf('end'), { isEnding: true })).toBeGreaterThan(1);
    const other = await createdFor(journal, 'other', 'three');
    expect(await other.append(kilobytes(64))).toBe(1);
    expect(log.hasShareFor(0)).toBe(false);
    await log.close({ remove: true });
    expect((await createdFor(journal, 'greedy', 'two')).hasShareFor(64 * 1024)).toBe(true);
  });

  test('what is in flight counts for its account', async () => {
    const journal = await harness.reopen({ bytesMax });
    const log = await createdFor(journal, 'greedy', 'one');
    const appended = log.append(kilobytes(512));
    expect(log.hasShareFor(0)).toBe(false);
    await appended;
    expect(log.hasShareFor(0)).toBe(false);
  });

  test('logs of ended streams count, and the oldest go before anything of their account is refused', async () => {
    await harness.reopen({ bytesMax });
    await endMany(harness, 'busy', 50);
    const kept = await streamsOf('busy');
    expect(kept.length).toBeGreaterThan(15);
    expect(kept.length).toBeLessThan(40);
    // Those that ended last.
    const numbers = kept.map((stream) => Number(stream.slice('busy-'.length))).sort((one, other) => one - other);
    expect(numbers).toEqual(Array.from({ length: kept.length }, (_, index) => 50 - kept.length + index));
  });

  test('an open stream takes the room of the ended ones of its account, and of no other', async () => {
    const journal = await harness.reopen({ bytesMax });
    await endMany(harness, 'other', 5);
    await endMany(harness, 'busy', 20);
    const log = await createdFor(journal, 'busy', 'open');
    for (let round = 0; round < 60 && log.hasShareFor(0); round++) {
      await log.append(kilobytes(8));
      await journal.list();
    }
    expect(await streamsOf('busy')).toEqual(['open']);
    expect((await streamsOf('other')).length).toBe(5);
  });

  test('ids that are kept of ended streams count as well', async () => {
    const journal = await harness.reopen({ bytesMax: bytesMax / 8 });
    const { subject } = harness;
    for (let index = 0; index < 60; index++) {
      const log = await createdFor(journal, 'many', `m${index}`);
      await log.append(entriesOf('x'));
      await log.close({ entriesExpireAtMs: subject.now() });
    }
    expect((await streamsOf('many')).length).toBeLessThan(40);
    expect(journal.usage().bytes).toBeLessThan((bytesMax / 8) * 0.4);
  });

  test('a journal that is opened again knows who its logs count for', async () => {
    const journal = await harness.reopen({ bytesMax });
    if (!harness.subject.isDurable) return;
    await fillShare(await createdFor(journal, 'greedy', 'one'));
    const next = await harness.reopen({ bytesMax });
    await expect(createdFor(next, 'greedy', 'two')).rejects.toEqual(full);
    expect(((await next.takeOver('one', 'b')) as StreamLog).hasShareFor(0)).toBe(false);
    expect((await createdFor(next, 'other', 'three')).hasShareFor(1024)).toBe(true);
  });

  test('a checkpoint before a trim is taken where entries are not', async () => {
    const journal = await harness.reopen({ bytesMax });
    const log = (await journal.takeOver('s', 'a', { create: true })) as StreamLog;
    let last = 0;
    for (let bytes = 0; bytes < bytesMax * 0.88; bytes += 8192) last = await log.append(kilobytes(8));
    const other = (await journal.takeOver('t', 'a', { create: true, account: 'x' }).catch((error) => error)) as unknown;
    expect(other).toEqual(full);
    expect(await log.append(kilobytes(32), { isCheckpoint: true })).toBe(last + 1);
    log.trim(last + 1, entriesOf('snapshot'));
    await log.append([]);
    expect(journal.usage().bytes).toBeLessThan(8192);
  });
}
