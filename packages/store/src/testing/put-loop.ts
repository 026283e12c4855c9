/**
 * A process that changes a store as fast as it can and says on its standard output what has been acknowledged, to be
 * killed by a test: `node put-loop.js FOLDER synced|unsynced`.
 */
import { writeSync } from 'node:fs';
import { openLmdbStore } from '../lmdb/lmdb-store.ts';
import type { MetadataStore } from '../metadata.ts';
import { counterFrom, counterKeys, counterValue } from './counters.ts';

const [path, mode] = process.argv.slice(2) as [string, string];
const store = await openLmdbStore({ path, isSynced: mode === 'synced' });
writeSync(1, 'open\n');
await Promise.all(counterKeys.map((key) => countForever(store, key)));

async function countForever(metadata: MetadataStore, key: string): Promise<never> {
  let entry = await metadata.get(key);
  for (;;) {
    const next = entry === undefined ? 1 : counterFrom(entry.value) + 1;
    const value = counterValue(key, next);
    const revision = await metadata.put(key, value, { expected: entry?.revision ?? 'absent' });
    if (revision === undefined) throw new Error(`${key} was changed by nobody`);
    writeSync(1, `${key} ${next} ${revision}\n`);
    entry = { key, value, revision };
  }
}
