/**
 * A metadata store on disk: acknowledged changes survive the process, and the machine too unless configured otherwise.
 */
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { MetadataStore } from '../metadata.ts';
import { type StoreClock, systemStoreClock } from '../store-clock.ts';
import { StoreError } from '../store-error.ts';
import type { Table, TableHost } from '../table.ts';
import { TableStore } from '../table-store.ts';
import type { LmdbTable } from './lmdb-table.ts';
import { Ownership, ownerRecord } from './ownership.ts';
import { prepareFolder, unusable } from './store-folder.ts';

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
  const folder = resolve(options.path);
  prepareFolder(folder, options.temporaryFolder ?? tmpdir());
  const table = await openTable(folder, options.isSynced ?? true);
  let ownership: Ownership | undefined;
  try {
    checkFormat(folder, table);
    ownership = await Ownership.take(folder, table);
    await table.write((records) => records.put('format', Buffer.from(`${storeFormat}`)));
    return await TableStore.open(new OwnedTable(table, ownership, folder), options.clock ?? systemStoreClock);
  } catch (error) {
    ownership?.giveUp();
    await table.close();
    throw error;
  }
}

/** lmdb is loaded only when it is used: a server without a store saves its memory and start-up time. */
async function openTable(folder: string, isSynced: boolean): Promise<LmdbTable> {
  try {
    const { LmdbTable } = await import('./lmdb-table.ts');
    return new LmdbTable({ folder, isSynced });
  } catch (error) {
    throw unusable(folder, (error as Error).message, error);
  }
}

function checkFormat(folder: string, table: LmdbTable): void {
  const bytes = table.get('format');
  const format = bytes === undefined ? storeFormat : Number(Buffer.from(bytes).toString());
  if (format === storeFormat) return;
  const advice = 'use that Millrace again, or another folder';
  throw new StoreError(
    'store-newer',
    `the store in ${folder} has format ${format}, written by a later Millrace; this one supports up to ${storeFormat}: ${advice}`,
  );
}

/** Writes only while this process owns the store. */
class OwnedTable implements TableHost {
  readonly #table: LmdbTable;
  readonly #ownership: Ownership;
  readonly #folder: string;

  constructor(table: LmdbTable, ownership: Ownership, folder: string) {
    this.#table = table;
    this.#ownership = ownership;
    this.#folder = folder;
  }

  read<T>(action: (table: Table) => T): T {
    return this.#table.read(action);
  }

  write<T>(action: (table: Table) => T): Promise<T> {
    return this.#table.write((records) => {
      if (!this.#ownership.isNamedIn(records.get(ownerRecord))) {
        throw new StoreError('store-locked', `another server has taken over the store in ${this.#folder}`);
      }
      return action(records);
    });
  }

  async close(): Promise<void> {
    await this.#table.close();
    this.#ownership.giveUp();
  }
}
