import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore } from './open-store.ts';

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
