import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MetadataStore } from '../metadata.ts';
import { describeMetadataStore } from '../metadata-contract.ts';
import { HeldStoreClock } from '../testing/held-clock.ts';
import { openLmdbStore, storeFormat } from './lmdb-store.ts';
import { LmdbTable } from './lmdb-table.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-store-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const freshPath = (): string => join(root, randomUUID());
const refused = (code: string, message: string) =>
  expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(message) });

for (const isSynced of [true, false]) {
  describeMetadataStore(`lmdb, ${isSynced ? 'synced' : 'not synced'}`, async () => {
    const clock = new HeldStoreClock();
    const path = freshPath();
    return {
      open: () => openLmdbStore({ path, isSynced, clock }),
      passTime: async (ms) => clock.pass(ms),
      isDurable: true,
      dispose: async () => rmSync(path, { recursive: true, force: true }),
    };
  });
}

const entry = new TextEncoder().encode('value');

async function withStore(path: string, use: (store: MetadataStore) => Promise<void>): Promise<void> {
  const store = await openLmdbStore({ path });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

describe('the folder', () => {
  test('is created with its parents, for its owner alone', async () => {
    const path = join(freshPath(), 'below');
    await withStore(path, async () => expect(statSync(path).mode & 0o777).toBe(0o700));
  });

  test('has no files of the owner after a close', async () => {
    const path = freshPath();
    await withStore(path, async () => {});
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb']);
  });

  test('is cleared of files that dead owners left', async () => {
    const path = freshPath();
    await withStore(path, async () => {});
    writeFileSync(join(path, 'owner-0123456789ab'), '');
    await withStore(path, async () => expect(readdirSync(path)).toHaveLength(3));
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb']);
  });

  test('may have a path too long for the address of a socket', async () => {
    const path = join(root, 'x'.repeat(120), randomUUID());
    await withStore(path, async (store) => {
      await store.put('a', entry);
      await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-locked', path));
    });
    await withStore(path, async (store) => expect(await store.get('a')).toBeDefined());
  });

  test('that is a file is refused', async () => {
    const path = freshPath();
    writeFileSync(path, '');
    await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-unusable', path));
    await expect(openLmdbStore({ path: join(path, 'below') })).rejects.toEqual(refused('store-unusable', path));
  });

  test('that cannot be made is refused', async () => {
    // Nobody can make a folder there, whoever runs the test.
    for (const path of ['/dev/null/store', '/proc/millrace-store/below']) {
      await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-unusable', path));
    }
  });

  test.each([
    ['text', Buffer.from('not a database')],
    ['a page of something else', Buffer.alloc(8192, 'x')],
    ['less than two pages', Buffer.alloc(100, 0)],
  ])('with %s for data is refused and left alone', async (_, bytes) => {
    const path = freshPath();
    mkdirSync(path);
    writeFileSync(join(path, 'data.mdb'), bytes);
    await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-unusable', 'data.mdb is damaged'));
    expect(statSync(join(path, 'data.mdb')).size).toBe(bytes.length);
    expect(existsSync(join(path, 'lock.mdb'))).toBe(false);
  });

  describe('with a data file that is shorter than it says', () => {
    const whole = freshPath();
    beforeAll(async () => {
      await withStore(whole, async (store) => {
        for (let index = 0; index < 60; index++) await store.put(`key/${index}`, new Uint8Array(3000));
      });
    });
    const copyOf = (bytes: Uint8Array): string => {
      const path = freshPath();
      mkdirSync(path);
      writeFileSync(join(path, 'data.mdb'), bytes);
      return path;
    };

    test.each([0.1, 0.5, 0.9, 0.999])('of which %d is left is refused and left alone', async (part) => {
      const bytes = readFileSync(join(whole, 'data.mdb'));
      const path = copyOf(bytes.subarray(0, Math.max(8192, Math.floor(bytes.length * part))));
      await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-unusable', 'data.mdb is damaged'));
      expect(readdirSync(path)).toEqual(['data.mdb']);
    });

    test('is opened when no page of it is missing: the last ones may never have been written', async () => {
      const bytes = readFileSync(join(whole, 'data.mdb'));
      for (const page of [0, 4096]) bytes.writeBigUInt64LE(bytes.readBigUInt64LE(page + 144) + 3n, page + 144);
      await withStore(copyOf(bytes), async (store) => {
        expect(await store.list('key/')).toHaveLength(60);
        await store.put('another', entry);
      });
    });
  });

  test('with an empty data file, from an opening cut short, is a new store', async () => {
    const path = freshPath();
    mkdirSync(path);
    writeFileSync(join(path, 'data.mdb'), '');
    await withStore(path, async (store) => expect(await store.list('')).toEqual([]));
  });

  test('of a later format is refused, and can be used by the later Millrace still', async () => {
    const path = freshPath();
    await withStore(path, async () => {});
    const database = open(path, { noSubdir: false, encoding: 'binary', keyEncoding: 'binary' });
    await database.put(Buffer.from('format'), Buffer.from(`${storeFormat + 1}`));
    await database.close();
    await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-newer', `format ${storeFormat + 1}`));
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb']);
  });
});

describe('the owner', () => {
  test('refuses others, and admits them when it has closed', async () => {
    const path = freshPath();
    await withStore(path, async (store) => {
      await expect(openLmdbStore({ path })).rejects.toEqual(refused('store-locked', 'in use by another server'));
      await store.put('a', entry);
    });
    await withStore(path, async (store) => expect(await store.get('a')).toBeDefined());
  });

  test('is only one, even if many open at the same moment', async () => {
    const path = freshPath();
    const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => openLmdbStore({ path })));
    const opened = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
    expect(opened).toHaveLength(1);
    for (const attempt of attempts) {
      if (attempt.status === 'rejected') expect(attempt.reason).toEqual(refused('store-locked', path));
    }
    await opened[0]?.close();
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'lock.mdb']);
  });

  test('writes nothing more once somebody else has taken the store', async () => {
    const path = freshPath();
    const store = await openLmdbStore({ path });
    // As after the socket was removed by hand, so that the next owner believed this one dead.
    for (const name of readdirSync(path)) if (name.startsWith('owner-')) rmSync(join(path, name));
    await withStore(path, async (successor) => {
      await successor.put('a', entry);
      await expect(store.put('a', entry)).rejects.toEqual(refused('store-locked', 'taken over'));
      expect((await successor.get('a'))?.revision).toBe(1);
    });
    await store.close();
  });
});

test('a lease is not prolonged by a clock that was set back while the store was closed', async () => {
  const clock = new HeldStoreClock();
  const path = freshPath();
  const store = await openLmdbStore({ path, clock });
  await store.put('a', entry, { lease: await store.grantLease(1000) });
  await store.close();
  clock.pass(-3_600_000);
  const again = await openLmdbStore({ path, clock });
  clock.pass(1000);
  expect(await again.get('a')).toBeUndefined();
  await again.close();
});

test('an action that fails half-way leaves nothing, and is named', async () => {
  const path = freshPath();
  mkdirSync(path);
  const table = new LmdbTable({ folder: path, isSynced: false });
  await table.write((records) => records.put('a', Buffer.from('before')));
  const failing = table.write((records) => {
    records.put('a', Buffer.from('after'));
    records.put('b', Buffer.from('after'));
    throw new Error('the disk is full');
  });
  const following = table.write((records) => records.put('c', Buffer.from('after')));
  await expect(failing).rejects.toEqual(refused('store-failed', 'the disk is full'));
  await following;
  expect(table.range('').map(([key, bytes]) => `${key} ${Buffer.from(bytes)}`)).toEqual(['a before', 'c after']);
  await table.close();
});
