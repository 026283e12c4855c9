/**
 * A metadata store on disk: acknowledged changes survive the process, and the machine too unless configured otherwise.
 */
import type { MetadataStore } from '../metadata.ts';
import { type StoreClock, systemStoreClock } from '../store-clock.ts';
import { StoreError } from '../store-error.ts';
import type { Table, TableHost } from '../table.ts';
import { TableStore } from '../table-store.ts';
import { type OwnedFolder, openOwnedFolder } from './owned-folder.ts';
import { ownerRecord } from './ownership.ts';

export interface LmdbStoreOptions {
  /** Created, for its owner alone, if it does not exist. */
  readonly path: string;
  /**
   * False: a change survives the death of the process at any moment, but the last ones may be lost in a power failure.
   */
  readonly isSynced?: boolean;
  /** Where a copy of a possibly damaged file is tested; the system's folder for temporary files unless given. */
  readonly temporaryFolder?: string | undefined;
  readonly clock?: StoreClock;
}

/** Format of the records on disk; a later one is not read. */
export const storeFormat = 1;

export async function openLmdbStore(options: LmdbStoreOptions): Promise<MetadataStore> {
  const table = await openLmdbTable(options);
  try {
    return await TableStore.open(table, options.clock ?? systemStoreClock);
  } catch (error) {
    await table.close();
    throw error;
  }
}

/** The records of a store in a folder that this process owns. */
export async function openLmdbTable(options: LmdbStoreOptions): Promise<TableHost> {
  const { path, isSynced = true, temporaryFolder } = options;
  const kept = { kind: 'store', format: storeFormat, isPrivate: false } as const;
  return new OwnedTable(await openOwnedFolder({ path, isSynced, temporaryFolder, ...kept }));
}

/** Writes only while this process owns the store. */
class OwnedTable implements TableHost {
  readonly #owned: OwnedFolder;

  constructor(owned: OwnedFolder) {
    this.#owned = owned;
  }

  read<T>(action: (table: Table) => T): T {
    return this.#owned.table.read(action);
  }

  write<T>(action: (table: Table) => T): Promise<T> {
    const { table, ownership, folder } = this.#owned;
    return table.write((records) => {
      if (!ownership.isNamedIn(records.get(ownerRecord))) {
        throw new StoreError('store-locked', `another server has taken over the store in ${folder}`);
      }
      return action(records);
    });
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}
