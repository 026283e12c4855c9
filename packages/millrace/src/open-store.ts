/** The metadata store as the configuration asks for it. */
import { join } from 'node:path';
import { ConfigError } from '@millrace/protocol';
import { type MetadataStore, openLmdbStore, openMemoryStore, StoreError } from '@millrace/store';
import type { Config } from './config/fields.ts';

/** Throws `ConfigError` when the folder cannot be used. */
export async function openStore({ path, synced }: Config['store'], temporaryFolder?: string): Promise<MetadataStore> {
  if (path === '') return openMemoryStore();
  try {
    return await openLmdbStore({ path, isSynced: synced, temporaryFolder });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ConfigError([{ source: path, field: 'store.path', message: error.message }]);
  }
}

/** Where model files uploaded with a load are kept: in the folder of the store; nowhere for a store in memory. */
export function stateFolderIn(storePath: string): { readonly stateFolder?: string } {
  return storePath === '' ? {} : { stateFolder: join(storePath, 'loads') };
}
