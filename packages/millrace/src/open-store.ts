/** The metadata store as the configuration asks for it. */
import { ConfigError } from '@millrace/protocol';
import { type MetadataStore, openLmdbStore, openMemoryStore, StoreError } from '@millrace/store';
import type { Config } from './config/fields.ts';

/** Throws `ConfigError` when the folder cannot be used. */
export async function openStore({ path, synced }: Config['store']): Promise<MetadataStore> {
  if (path === '') return openMemoryStore();
  try {
    return await openLmdbStore({ path, isSynced: synced });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ConfigError([{ source: path, field: 'store.path', message: error.message }]);
  }
}
