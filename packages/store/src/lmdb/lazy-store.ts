/**
 * A metadata store on disk whose folder is made by the first change: a server that keeps nothing saves the memory and the time that
 * lmdb takes. A folder that exists is opened at once.
 */
import { existsSync } from 'node:fs';
import { MemoryTable } from '../memory/memory-table.ts';
import type { MetadataStore } from '../metadata.ts';
import { systemStoreClock } from '../store-clock.ts';
import type { Table, TableHost } from '../table.ts';
import { TableStore } from '../table-store.ts';
import { type LmdbStoreOptions, openLmdbStore, openLmdbTable } from './lmdb-store.ts';

export async function openLazyStore(options: LmdbStoreOptions): Promise<MetadataStore> {
  if (existsSync(options.path)) return openLmdbStore(options);
  return TableStore.open(new LazyTable(() => openLmdbTable(options)), options.clock ?? systemStoreClock);
}

/** Empty until something is put into it; then the table that `open` gives. */
export class LazyTable implements TableHost {
  readonly #open: () => Promise<TableHost>;
  readonly #nothing: TableHost = new MemoryTable();
  #opened: TableHost | undefined;
  /** Settles when every write that was requested before the table was opened has ended. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(open: () => Promise<TableHost>) {
    this.#open = open;
  }

  read<T>(action: (table: Table) => T): T {
    return (this.#opened ?? this.#nothing).read(action);
  }

  write<T>(action: (table: Table) => T): Promise<T> {
    if (this.#opened !== undefined) return this.#opened.write(action);
    const written = this.#last.then(() => this.#write(action));
    this.#last = written.catch(() => {});
    return written;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#opened?.close();
  }

  async #write<T>(action: (table: Table) => T): Promise<T> {
    if (this.#opened !== undefined) return this.#opened.write(action);
    // An action runs once, and may change nothing: what it puts is written when there is something.
    const first = new MemoryTable();
    const result = action(first);
    const changes = first.range('');
    if (changes.length === 0) return result;
    const opened = await this.#open();
    try {
      await opened.write((table) => {
        for (const [key, bytes] of changes) table.put(key, bytes);
      });
    } catch (error) {
      await opened.close();
      throw error;
    }
    this.#opened = opened;
    return result;
  }
}
