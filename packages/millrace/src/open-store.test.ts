import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore, stateFolderIn } from './open-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-open-store-'));
afterAll(() => rmSync(folder, { recursive: true }));

const bytes = new TextEncoder().encode('kept');

test('without a path data is lost when the store closes, with one it is kept', async () => {
  for (const path of ['', join(folder, 'kept')]) {
    const store = await openStore({ path, synced: false });
    await store.put('a', bytes);
    await store.close();
    const again = await openStore({ path, synced: true });
    expect(await again.list('')).toHaveLength(path === '' ? 0 : 1);
    await again.close();
  }
});

test('a folder that cannot be used is a problem of the configuration, with its field and what to do', async () => {
  const path = join(folder, 'file');
  writeFileSync(path, '');
  await expect(openStore({ path, synced: true })).rejects.toMatchObject({
    name: 'ConfigError',
    problems: [{ source: path, field: 'store.path', message: expect.stringContaining('choose another folder') }],
  });
});

test('without a path, what is put into the store outlives the process where a folder does', async () => {
  const lastingFolder = mkdtempSync(join(folder, 'lasting-'));
  const none = { path: '', synced: false };
  const first = await openStore(none, { lastingFolder });
  await first.close();
  expect(readdirSync(lastingFolder)).toEqual([]);
  const second = await openStore(none, { lastingFolder });
  await second.put('a', bytes);
  await second.close();
  const third = await openStore(none, { lastingFolder });
  expect(await third.list('')).toHaveLength(1);
  await third.close();
});

test('a store in the lasting folder that cannot be read is given up, with the reason', async () => {
  const lastingFolder = mkdtempSync(join(folder, 'lasting-'));
  mkdirSync(join(lastingFolder, 'store'));
  writeFileSync(join(lastingFolder, 'store', 'data.mdb'), 'damaged');
  const lost: string[] = [];
  const store = await openStore({ path: '', synced: false }, { lastingFolder, onLost: (reason) => lost.push(reason) });
  await store.put('a', bytes);
  expect(await store.list('')).toHaveLength(1);
  expect(lost).toEqual([expect.stringContaining('data.mdb is damaged')]);
  await store.close();
});

test('files of loads are kept beside the store', () => {
  expect(stateFolderIn('', undefined)).toEqual({});
  expect(stateFolderIn('', '/lasting')).toEqual({ stateFolder: '/lasting/loads' });
  expect(stateFolderIn('/store', '/lasting')).toEqual({ stateFolder: '/store/loads' });
});
