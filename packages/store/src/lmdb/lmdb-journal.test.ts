import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Database, open } from 'lmdb';
import { afterAll, describe, expect, test } from 'vitest';
import { journalFormat } from '../journal/record-format.ts';
import type { Journal, StreamLog } from '../journal.ts';
import { created, entriesOf, shownLog, whenFenced } from '../journal-contract/journal-subject.ts';
import { describeJournal } from '../journal-contract.ts';
import { HeldStoreClock } from '../testing/held-clock.ts';
import { storeRefusal } from '../testing/store-refusal.ts';
import { openLmdbJournal } from './lmdb-journal.ts';
import { openLmdbStore } from './lmdb-store.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const freshPath = (): string => join(root, randomUUID());

for (const durability of ['process', 'power'] as const) {
  describeJournal(`lmdb, ${durability}`, async () => {
    const clock = new HeldStoreClock();
    const path = freshPath();
    return {
      open: (bounds) => openLmdbJournal({ path, durability, bounds, clock }),
      passTime: async (ms) => clock.pass(ms),
      now: () => clock.now(),
      isDurable: true,
      dispose: async () => rmSync(path, { recursive: true, force: true }),
    };
  });
}

const owner = 'router';

async function withJournal(path: string, use: (journal: Journal) => Promise<void>): Promise<void> {
  const journal = await openLmdbJournal({ path, durability: 'process' });
  try {
    await use(journal);
  } finally {
    await journal.close();
  }
}

/** A journal with one log of five entries in three records, and a snapshot of the first. */
async function writtenPath(): Promise<string> {
  const path = freshPath();
  await withJournal(path, async (journal) => {
    const log = await created(journal, 's');
    await log.append(entriesOf('one', 'two'));
    await log.append(entriesOf('three'));
    await log.append(entriesOf('four', 'five'));
    log.trim(1, entriesOf('opening'));
    await log.append([]);
    await (await created(journal, 'other')).append(entriesOf('whole'));
  });
  return path;
}

type Rows = Database<Uint8Array, Uint8Array>;

async function change(path: string, action: (rows: Rows) => Promise<unknown>): Promise<void> {
  const rows = open<Uint8Array, Uint8Array>(path, { noSubdir: false, encoding: 'binary', keyEncoding: 'binary' });
  await action(rows);
  await rows.close();
}

/** Keys of the records of the first log, oldest first: three with entries, then the snapshot. */
const recordKeys = (rows: Rows): Buffer[] =>
  [...rows.getKeys({ start: Buffer.of(0xff) })].map((key) => Buffer.from(key));

describe('the folder', () => {
  test('and its files are for their owner alone, also where the folder is not', async () => {
    const [fresh, shared] = [freshPath(), freshPath()];
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    for (const path of [fresh, shared]) {
      await withJournal(path, async () => {});
      for (const name of readdirSync(path)) expect(statSync(join(path, name)).mode & 0o777, name).toBe(0o600);
    }
    expect(statSync(fresh).mode & 0o777).toBe(0o700);
  });

  test('of a later format is refused by name, and can be used by the later Millrace still', async () => {
    const path = await writtenPath();
    const set = (format: number) => (rows: Rows) => rows.put(Buffer.from('format'), Buffer.from(`journal ${format}`));
    await change(path, set(journalFormat + 1));
    const opening = openLmdbJournal({ path, durability: 'process' });
    await expect(opening).rejects.toEqual(storeRefusal('store-newer', `format ${journalFormat + 1}`));
    await change(path, set(journalFormat));
    await withJournal(path, async (journal) => expect(await journal.list()).toHaveLength(2));
  });

  test('of format 1, without tags, is read, and is of the present format after that', async () => {
    const path = await writtenPath();
    await change(path, async (rows) => {
      await rows.put(Buffer.from('format'), Buffer.from('journal 1'));
      for (const key of [...rows.getKeys({ start: Buffer.from('log/'), end: Buffer.from('log0') })]) {
        const head = Buffer.from(rows.get(key) as Uint8Array);
        await rows.put(key, sealedAs(1)(key, head.subarray(0, head.lastIndexOf(0))));
      }
    });
    await withJournal(path, async (journal) => {
      expect((await journal.list()).map(({ owner: by, tag }) => [by, tag])).toEqual([
        ['a', ''],
        ['a', ''],
      ]);
      expect(shownLog(await journal.takeOver('s', owner))).toBe('1 [opening] two three four five');
    });
    await change(path, async (rows) => {
      expect(Buffer.from(rows.get(Buffer.from('format')) as Uint8Array).toString()).toBe(`journal ${journalFormat}`);
    });
  });

  test('of metadata holds no journal, nor the other way round', async () => {
    const [metadata, journal] = [freshPath(), freshPath()];
    await (await openLmdbStore({ path: metadata })).close();
    await withJournal(journal, async () => {});
    const opening = openLmdbJournal({ path: metadata, durability: 'process' });
    await expect(opening).rejects.toEqual(storeRefusal('store-unusable', 'no journal'));
    await expect(openLmdbStore({ path: journal })).rejects.toEqual(storeRefusal('store-unusable', 'no store'));
  });

  test('is open once', async () => {
    const path = freshPath();
    await withJournal(path, async () => {
      const second = openLmdbJournal({ path, durability: 'process' });
      await expect(second).rejects.toEqual(storeRefusal('store-locked', 'in use by another server'));
    });
  });
});

test.each(['process', 'power'] as const)(
  'an owner in another process is fenced, idle or not: %s',
  async (durability) => {
    const path = freshPath();
    const journal = await openLmdbJournal({ path, durability });
    const [stale, idle] = [await created(journal, 's'), await created(journal, 'idle')];
    await stale.append(entriesOf('one'));
    // As after the socket was removed by hand, so that the next process believed this one dead.
    for (const name of readdirSync(path)) if (name.startsWith('owner-')) rmSync(join(path, name));
    await withJournal(path, async (successor) => {
      const log = (await successor.takeOver('s', owner)) as StreamLog;
      expect(shownLog(log)).toBe('0 [] one');
      const refusal = storeRefusal('journal-fenced', 'another server has taken over');
      await expect(stale.append(entriesOf('stale'))).rejects.toEqual(refusal);
      await Promise.all([whenFenced(stale), whenFenced(idle)]);
      await expect(idle.append([])).rejects.toEqual(refusal);
      await expect(journal.peek('s')).rejects.toEqual(refusal);
      expect(await log.append(entriesOf('two'))).toBe(2);
      expect(shownLog(await successor.peek('s'))).toBe('0 [] one two');
    });
    await journal.close();
  },
);

describe('after the machine was restarted', () => {
  /** As if the folder had been written before that. */
  async function writtenBefore(): Promise<string> {
    const path = await writtenPath();
    writeFileSync(join(path, 'boot'), 'another run of the machine');
    return path;
  }

  test('a journal that survived is read', async () => {
    const path = await writtenBefore();
    await withJournal(path, async (journal) => expect(await journal.list()).toHaveLength(2));
    expect(readFileSync(join(path, 'boot'), 'utf8')).not.toContain('another');
  });

  test('one that did not is refused by name instead of ending the process', async () => {
    const path = await writtenBefore();
    const bytes = readFileSync(join(path, 'data.mdb'));
    bytes.fill(0xee, 8192);
    writeFileSync(join(path, 'data.mdb'), bytes);
    const opening = openLmdbJournal({ path, durability: 'process' });
    await expect(opening).rejects.toEqual(storeRefusal('store-unusable', 'damaged when the machine stopped'));
  });
});

describe('a damaged log', () => {
  const flipped = (bytes: Uint8Array | undefined, at: number): Buffer => {
    const copy = Buffer.from(bytes as Uint8Array);
    copy[at < 0 ? copy.length + at : at] = (copy.at(at) as number) ^ 1;
    return copy;
  };
  const rewriteRecord = (index: number, edit: (bytes: Buffer) => Uint8Array) => async (rows: Rows) => {
    const key = recordKeys(rows)[index] as Buffer;
    await rows.put(key, edit(Buffer.from(rows.get(key) as Uint8Array)));
  };
  const headKey = Buffer.from('log/s');

  test.each<[string, (rows: Rows) => Promise<unknown>]>([
    ['a flipped bit in the last entry', rewriteRecord(2, (bytes) => flipped(bytes, -1))],
    ['a flipped bit in a length', rewriteRecord(1, (bytes) => flipped(bytes, 5))],
    ['a flipped bit in a checksum', rewriteRecord(0, (bytes) => flipped(bytes, 2))],
    ['a flipped bit in the format', rewriteRecord(0, (bytes) => flipped(bytes, 0))],
    ['a flipped bit in the snapshot', rewriteRecord(3, (bytes) => flipped(bytes, -1))],
    ['a torn last record', rewriteRecord(2, (bytes) => bytes.subarray(0, -3))],
    ['an empty last record', rewriteRecord(2, () => new Uint8Array())],
    ['zeros for a record', rewriteRecord(1, (bytes) => Buffer.alloc(bytes.length))],
    ['a record with more behind it', rewriteRecord(1, (bytes) => Buffer.concat([bytes, Buffer.from('x')]))],
    [
      'a record of another place',
      async (rows) => {
        const [first, , third] = recordKeys(rows) as [Buffer, Buffer, Buffer];
        await rows.put(first, Buffer.from(rows.get(third) as Uint8Array));
      },
    ],
    ['a missing record in the middle', (rows) => rows.remove(recordKeys(rows)[1] as Buffer)],
    ['a missing first record', (rows) => rows.remove(recordKeys(rows)[0] as Buffer)],
    ['a missing snapshot', (rows) => rows.remove(recordKeys(rows)[3] as Buffer)],
    ['a flipped bit in its head', (rows) => rows.put(headKey, flipped(rows.get(headKey), 20))],
    ['a torn head', (rows) => rows.put(headKey, Buffer.from(rows.get(headKey) as Uint8Array).subarray(0, 30))],
  ])('with %s is refused, not shortened; other logs are whole', async (_, damage) => {
    const path = await writtenPath();
    await change(path, damage);
    await withJournal(path, async (journal) => {
      const refusal = storeRefusal('journal-damaged', 'cannot be resumed');
      await expect(journal.peek('s')).rejects.toEqual(refusal);
      await expect(journal.takeOver('s', owner)).rejects.toEqual(refusal);
      await expect(journal.takeOver('s', owner, { create: true })).rejects.toEqual(refusal);
      expect(shownLog((await journal.takeOver('other', owner)) as StreamLog)).toBe('0 [] whole');
    });
  });

  test('with a row of a later format is refused by name, and its records are kept', async () => {
    const path = await writtenPath();
    const later = sealedAs(journalFormat + 1);
    await change(path, async (rows) => rows.put(headKey, later(headKey, rows.get(headKey) as Uint8Array)));
    await withJournal(path, async (journal) => {
      await expect(journal.takeOver('s', owner)).rejects.toEqual(storeRefusal('store-newer', 'a later Millrace'));
    });
    await change(path, async (rows) => {
      expect(recordKeys(rows)).toHaveLength(5);
      await rows.put(headKey, sealedAs(journalFormat)(headKey, rows.get(headKey) as Uint8Array));
    });
    await withJournal(path, async (journal) =>
      expect(shownLog(await journal.peek('s'))).toBe('1 [opening] two three four five'),
    );
  });
});

/** A row with another format and a checksum that fits. */
function sealedAs(format: number): (key: Uint8Array, row: Uint8Array) => Uint8Array {
  return (key, row) => {
    const copy = Buffer.from(row);
    copy[0] = format;
    copy.writeUInt32LE(0, 1);
    copy.writeUInt32LE(crc32(copy, crc32(key)), 1);
    return copy;
  };
}

test('records of removed logs are deleted, also those that a crash left behind', async () => {
  const path = await writtenPath();
  await change(path, (rows) => rows.remove(Buffer.from('log/s')));
  const clock = new HeldStoreClock();
  const journal = await openLmdbJournal({ path, durability: 'process', clock });
  clock.pass(5000);
  await journal.list();
  expect((await journal.list()).map(({ stream }) => stream)).toEqual(['other']);
  await journal.close();
  await change(path, async (rows) => expect(recordKeys(rows)).toHaveLength(1));
});

test.runIf(process.platform === 'linux')('the file is mapped once, however large it becomes', async () => {
  const path = freshPath();
  await withJournal(path, async (journal) => {
    const log = await created(journal, 's');
    for (let round = 0; round < 40; round++) await log.append([new Uint8Array(1024 * 1024)]);
    const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
    expect(statSync(join(path, 'data.mdb')).size).toBeGreaterThan(40 * 1024 * 1024);
    expect(maps.filter((line) => line.endsWith(`${path}/data.mdb`))).toHaveLength(1);
  });
});
