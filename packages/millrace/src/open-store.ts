/** The metadata store as the configuration asks for it. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@millrace/protocol';
import { type MetadataStore, openLazyStore, openLmdbStore, openMemoryStore, StoreError } from '@millrace/store';
import type { Config } from './config/fields.ts';

export interface StoreFolders {
  readonly temporaryFolder?: string | undefined;
  /** A private folder that outlives this process; undefined: nobody would look into it after this process. */
  readonly lastingFolder?: string | undefined;
  /** Called with the reason when what an earlier process left in the lasting folder cannot be read, and is given up. */
  readonly onLost?: ((reason: string) => void) | undefined;
}

/** Throws `ConfigError` when the folder that is configured cannot be used. */
export async function openStore(
  { path, synced }: Config['store'],
  { temporaryFolder, lastingFolder, onLost }: StoreFolders = {},
): Promise<MetadataStore> {
  if (path === '') {
    if (lastingFolder === undefined) return openMemoryStore();
    return openLasting(join(lastingFolder, 'store'), temporaryFolder, onLost ?? (() => {}));
  }
  try {
    return await openLmdbStore({ path, isSynced: synced, temporaryFolder });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ConfigError([{ source: path, field: 'store.path', message: error.message }]);
  }
}

/** What it holds goes with the supervisor, so it need not survive the machine; and a server that cannot read it serves without it. */
async function openLasting(
  path: string,
  temporaryFolder: string | undefined,
  onLost: (reason: string) => void,
): Promise<MetadataStore> {
  const options = { path, isSynced: false, temporaryFolder };
  try {
    return await openLazyStore(options);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    onLost(error.message);
    await rm(path, { recursive: true, force: true });
    return openLazyStore(options);
  }
}

/** Where model files uploaded with a load are kept: beside the store; nowhere for a store in memory. */
export function stateFolderIn(storePath: string, lastingFolder: string | undefined): { readonly stateFolder?: string } {
  const folder = storePath === '' ? lastingFolder : storePath;
  return folder === undefined ? {} : { stateFolder: join(folder, 'loads') };
}
