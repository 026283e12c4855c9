/**
 * Budget of the main thread for an entry of 100 bytes: 2 µs when many of one stream share a transaction, 7 µs for one each of
 * many streams, 30 µs for one alone; trims included. Run with
 * `npx vitest bench packages/store`. The yardstick writes the same bytes to a file with one call, without which no entry
 * survives its process. Latencies and rates under load: `packages/store/src/testing/journal-load.ts`.
 */
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, bench, describe } from 'vitest';
import type { StreamLog } from '../journal.ts';
import { openLmdbJournal } from './lmdb-journal.ts';

const entry = new Uint8Array(100).fill(7);
const folder = mkdtempSync(join(tmpdir(), 'millrace-journal-bench-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const journal = await openLmdbJournal({ path: join(folder, 'journal'), durability: 'process' });
const names = Array.from({ length: 200 }, (_, index) => `stream-${index}`);
const logs = (await Promise.all(
  names.map((name) => journal.takeOver(name, 'bench', { create: true })),
)) as readonly StreamLog[];
const file = openSync(join(folder, 'yardstick'), 'w');

function appendTo(log: StreamLog): Promise<unknown> {
  return log.append([entry]).then((last) => {
    if (last % 100 === 0) log.trim(last, [entry]);
  });
}

for (const [entries, streams] of [
  [1, 1],
  [200, 1],
  [200, 200],
] as const) {
  describe(`${entries} entries of ${streams} streams in a turn`, () => {
    const bytes = new Uint8Array(entries * entry.length);
    bench('journal on lmdb, process', async () => {
      const appends: Promise<unknown>[] = [];
      for (let index = 0; index < entries; index++) appends.push(appendTo(logs[index % streams] as StreamLog));
      await Promise.all(appends);
    });

    bench('yardstick', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      writeSync(file, bytes);
    });
  });
}
