/** A table in lmdb. Actions of one turn share a commit, which runs on a separate thread. */
import { type Database, open } from 'lmdb';
import type { Table, TableHost } from '../table.ts';
import { writeFailure } from './write-failure.ts';

export interface LmdbTableOptions {
  readonly folder: string;
  /** A write resolves when it is on disk, not only in the kernel. */
  readonly isSynced: boolean;
  /** Addresses that are taken for the file at first, of which only pages in use take memory. */
  readonly mapBytes?: number | undefined;
}

export class LmdbTable implements Table, TableHost {
  readonly database: Database<Uint8Array, Uint8Array>;

  constructor({ folder, isSynced, mapBytes }: LmdbTableOptions) {
    this.database = open<Uint8Array, Uint8Array>(folder, {
      noSubdir: false,
      encoding: 'binary',
      keyEncoding: 'binary',
      // lmdb's own order of writes: pages, flush, root, flush. What is in the kernel survives the process
      // either way; what is on disk survives the machine.
      noSync: !isSynced,
      // Would resolve writes before they are flushed.
      overlappingSync: false,
      // A file that outgrows its mapping gets a larger one, and the smaller stays until the close: pages that are read by both
      // count twice in the resident memory of the process.
      ...(mapBytes === undefined ? {} : { mapSize: mapBytes }),
    });
  }

  get(key: string): Uint8Array | undefined {
    return this.database.get(Buffer.from(key));
  }

  put(key: string, bytes: Uint8Array): void {
    void this.database.put(Buffer.from(key), bytes);
  }

  remove(key: string): void {
    void this.database.remove(Buffer.from(key));
  }

  range(prefix: string): readonly (readonly [key: string, bytes: Uint8Array])[] {
    const start = Buffer.from(prefix);
    // The first text after all that begin with the prefix: 0xff occurs in no UTF-8 text.
    const end = Buffer.concat([start, Buffer.of(0xff)]);
    const rows = this.database.getRange({ start, end });
    return [...rows.map(({ key, value }) => [Buffer.from(key).toString(), value] as const)];
  }

  read<T>(action: (table: Table) => T): T {
    return action(this);
  }

  /** In a nested transaction within the commit: a change that fails half-way leaves nothing. */
  async write<T>(action: (table: Table) => T): Promise<T> {
    try {
      return await this.database.childTransaction(() => action(this));
    } catch (error) {
      throw writeFailure(error);
    }
  }

  close(): Promise<void> {
    return this.database.close();
  }
}
