import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ReadingCache, readingCacheBytesMax } from './reading-cache.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-readings-'));
afterAll(() => rmSync(root, { recursive: true }));

let count = 0;
function freshFolder(): string {
  count += 1;
  return mkdtempSync(join(root, `${count}-`));
}

async function filled(folder: string, entries: Readonly<Record<string, unknown>>, bytesMax?: number): Promise<void> {
  const cache = new ReadingCache({ folder, code: 'a', ...(bytesMax === undefined ? {} : { bytesMax }) });
  for (const [key, value] of Object.entries(entries)) cache.put(key, value);
  await cache.close();
}

test('what one process put is found by the next, in a file that nobody else may read', async () => {
  const folder = freshFolder();
  await filled(folder, { rows: { kind: 'independent' }, digest: 'abc' });
  const next = new ReadingCache({ folder, code: 'a' });
  expect([next.get('rows'), next.get('digest'), next.get('other')]).toEqual([
    { kind: 'independent' },
    'abc',
    undefined,
  ]);
  expect(readdirSync(folder)).toEqual(['readings']);
  expect(statSync(join(folder, 'readings')).mode & 0o777).toBe(0o600);
});

test('entries of other code are not used, and are replaced', async () => {
  const folder = freshFolder();
  await filled(folder, { rows: 1 });
  const other = new ReadingCache({ folder, code: 'b' });
  expect(other.get('rows')).toBeUndefined();
  other.put('rows', 2);
  await other.close();
  expect(new ReadingCache({ folder, code: 'b' }).get('rows')).toBe(2);
  expect(new ReadingCache({ folder, code: 'a' }).get('rows')).toBeUndefined();
});

test('a file of which any byte is another is ignored, and replaced', async () => {
  const folder = freshFolder();
  await filled(folder, { rows: { kind: 'independent' } });
  const path = join(folder, 'readings');
  const whole = readFileSync(path);
  for (let position = 0; position < whole.length; position++) {
    const damaged = Buffer.from(whole);
    damaged[position] = (damaged[position] as number) ^ 1;
    writeFileSync(path, damaged);
    expect(new ReadingCache({ folder, code: 'a' }).get('rows'), `byte ${position}`).toBeUndefined();
  }
  for (const length of [0, 1, whole.length - 1]) {
    writeFileSync(path, whole.subarray(0, length));
    expect(new ReadingCache({ folder, code: 'a' }).get('rows'), `${length} bytes`).toBeUndefined();
  }
  await filled(folder, { rows: 3 });
  expect(new ReadingCache({ folder, code: 'a' }).get('rows')).toBe(3);
});

test('beyond its limit the entries that were not used for longest are dropped', async () => {
  const folder = freshFolder();
  const cache = new ReadingCache({ folder, code: 'a', bytesMax: 40 });
  cache.put('one', 'x'.repeat(5));
  cache.put('two', 'x'.repeat(5));
  expect(cache.get('one')).toBeDefined();
  cache.put('three', 'x'.repeat(5));
  expect(['one', 'two', 'three'].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
  cache.put('large', 'x'.repeat(100));
  expect(['one', 'three', 'large'].map((key) => cache.get(key) !== undefined)).toEqual([true, true, false]);
  await cache.close();
  expect(readingCacheBytesMax).toBe(8 * 1024 * 1024);
});

test('a folder that cannot be written costs nothing but the next search', async () => {
  const cache = new ReadingCache({ folder: join(freshFolder(), 'missing'), code: 'a' });
  cache.put('rows', 1);
  await cache.close();
  expect(cache.get('rows')).toBe(1);
});
