import { describe, expect, test } from 'vitest';
import { created, entriesOf, shownLog, taken } from '../journal-contract/journal-subject.ts';
import { MemoryJournalHost } from '../memory/memory-journal.ts';
import { StoreError } from '../store-error.ts';
import { storeRefusal } from '../testing/store-refusal.ts';
import type { JournalHost, JournalTable } from './journal-table.ts';
import { TableJournal } from './table-journal.ts';

type Fault = 'none' | 'refused' | 'applied';

/** Counts transactions, and lets them fail: before anything was written, or after everything was. */
class FaultyHost implements JournalHost {
  readonly #host = new MemoryJournalHost();
  fault: Fault = 'none';
  commits = 0;

  read<T>(action: (table: JournalTable) => T): T {
    return this.#host.read(action);
  }

  commit(action: (table: JournalTable) => void, settle: (error?: StoreError) => void): void {
    this.commits += 1;
    const error = this.fault === 'none' ? undefined : new StoreError('store-failed', 'the disk is full');
    if (this.fault === 'refused') settle(error);
    else this.#host.commit(action, () => settle(error));
  }

  close(): Promise<void> {
    return this.#host.close();
  }
}

const failed = storeRefusal('store-failed', 'the disk is full');

describe.each<[Fault, string]>([
  ['refused', '0 [] one'],
  ['applied', '0 [] one unknown'],
])('after a transaction that failed (%s)', (fault, found) => {
  test('the log takes no more calls, and a take-over says what was kept', async () => {
    const host = new FaultyHost();
    const journal = new TableJournal(host);
    const log = await created(journal, 's');
    await log.append(entriesOf('one'));
    host.fault = fault;
    await expect(log.append(entriesOf('unknown'))).rejects.toEqual(failed);
    host.fault = 'none';
    await expect(log.append(entriesOf('later'))).rejects.toEqual(failed);
    const next = await taken(journal, 's');
    expect(shownLog(next)).toBe(found);
    const last = next.entries.length;
    expect(await next.append(entriesOf('two'))).toBe(last + 1);
    expect(shownLog(await journal.peek('s'))).toBe(`${found} two`);
  });

  test('nothing is counted that is not in the table', async () => {
    const host = new FaultyHost();
    const journal = new TableJournal(host, { bounds: { logBytesMax: 100_000 } });
    const log = await created(journal, 's');
    await log.append(entriesOf('one', 'two'));
    host.fault = fault;
    const calls = [log.append([new Uint8Array(50_000)]), log.append(entriesOf('x'))];
    log.trim(1, entriesOf('snapshot'));
    for (const call of calls) await expect(call).rejects.toEqual(failed);
    await expect(journal.takeOver('new', 'a', { create: true })).rejects.toEqual(failed);
    host.fault = 'none';
    const list = await journal.list();
    expect(journal.usage().bytes).toBe(list.reduce((sum, { bytes }) => sum + bytes, 0));
    const next = await taken(journal, 's');
    next.trim(next.base + next.entries.length, []);
    await next.append([]);
    // It has room for this only if the failed calls no longer count.
    await next.append([new Uint8Array(80_000)]);
  });
});

describe('group commit', () => {
  test('appends of one turn and of many streams share a transaction', async () => {
    const host = new FaultyHost();
    const journal = new TableJournal(host);
    const logs = await Promise.all(Array.from({ length: 20 }, (_, index) => created(journal, `s${index}`)));
    const before = host.commits;
    await Promise.all(logs.flatMap((log) => [log.append(entriesOf('a')), log.append(entriesOf('b', 'c'))]));
    expect(host.commits).toBe(before + 1);
  });

  test('a transaction takes about 4 MiB; what is left has the next one, in order', async () => {
    const host = new FaultyHost();
    const journal = new TableJournal(host);
    const logs = await Promise.all(Array.from({ length: 6 }, (_, index) => created(journal, `s${index}`)));
    const before = host.commits;
    const settled: string[] = [];
    const appends = logs.map(async (log) => {
      await log.append([new Uint8Array(1.5 * 1024 * 1024)]);
      settled.push(log.stream);
    });
    await Promise.all(appends);
    expect(host.commits).toBe(before + 3);
    expect(settled).toEqual(logs.map(({ stream }) => stream));
  });

  test('a large number of trimmed records is deleted soon, without waiting for a sweep', async () => {
    const host = new FaultyHost();
    const journal = new TableJournal(host);
    const log = await created(journal, 's');
    for (let number = 1; number <= 600; number++) {
      await log.append(entriesOf(`${number}`));
      if (number % 10 === 0) log.trim(number, []);
    }
    await log.append([]);
    await journal.list();
    expect(host.read((table) => [...table.keys(Uint8Array.of(0xff))]).length).toBeLessThan(200);
  });
});
