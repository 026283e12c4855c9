import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { MemoryTable } from '../memory/memory-table.ts';
import { describeMetadataStore } from '../metadata-contract.ts';
import type { TableHost } from '../table.ts';
import { HeldStoreClock } from '../testing/held-clock.ts';
import { LazyTable, openLazyStore } from './lazy-store.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-lazy-store-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describeMetadataStore('lmdb, made by the first change', async () => {
  const clock = new HeldStoreClock();
  const path = join(root, randomUUID());
  return {
    open: () => openLazyStore({ path, isSynced: false, clock }),
    passTime: async (ms) => clock.pass(ms),
    isDurable: true,
    dispose: async () => rmSync(path, { recursive: true, force: true }),
  };
});

test('a store that nothing is put into makes no folder', async () => {
  const path = join(root, randomUUID());
  const store = await openLazyStore({ path, isSynced: false });
  expect([await store.list(''), await store.remove('a'), await store.get('a')]).toEqual([[], false, undefined]);
  expect(existsSync(path)).toBe(false);
  await store.put('a', Buffer.from('b'));
  expect(existsSync(path)).toBe(true);
  await store.close();
});

test('writes that come while the table is opened are kept, in their order', async () => {
  const opened = new MemoryTable();
  let resolve: (table: TableHost) => void = () => {};
  const opening = new Promise<TableHost>((fulfil) => {
    resolve = fulfil;
  });
  const table = new LazyTable(() => opening);
  const writes = ['1', '2', '3'].map((value) => table.write((rows) => rows.put('key', Buffer.from(value))));
  expect(table.read((rows) => rows.get('key'))).toBeUndefined();
  resolve(opened);
  await Promise.all(writes);
  expect(table.read((rows) => rows.get('key'))).toEqual(Buffer.from('3'));
});

test('a table that cannot be opened fails the write, and the next write tries again', async () => {
  let attempts = 0;
  const table = new LazyTable(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('no room');
    return new MemoryTable();
  });
  const put = () => table.write((rows) => rows.put('key', Buffer.from('value')));
  await expect(put()).rejects.toThrow('no room');
  expect(table.read((rows) => rows.range(''))).toEqual([]);
  await put();
  expect(table.read((rows) => rows.range(''))).toHaveLength(1);
});
