/** A journal in the memory of its process: durability `none`. */
import type { JournalHost, JournalTable } from '../journal/journal-table.ts';
import { TableJournal, type TableJournalOptions } from '../journal/table-journal.ts';
import type { Journal } from '../journal.ts';
import type { StoreError } from '../store-error.ts';

export function openMemoryJournal(options: TableJournalOptions = {}): Journal {
  return new TableJournal(new MemoryJournalHost(), options);
}

export class MemoryJournalHost implements JournalHost, JournalTable {
  /** By the characters with the codes of the key's bytes, which sort as these do. */
  readonly #rows = new Map<string, Uint8Array>();

  get(key: Uint8Array): Uint8Array | undefined {
    const bytes = this.#rows.get(nameOf(key));
    return bytes === undefined ? undefined : Uint8Array.from(bytes);
  }

  put(key: Uint8Array, bytes: Uint8Array): void {
    this.#rows.set(nameOf(key), Uint8Array.from(bytes));
  }

  remove(key: Uint8Array): void {
    this.#rows.delete(nameOf(key));
  }

  keys(prefix: Uint8Array): Iterable<Uint8Array> {
    const start = nameOf(prefix);
    const names = [...this.#rows.keys()]
      .filter((name) => name.startsWith(start))
      .sort((one, other) => (one < other ? -1 : 1));
    return names.map((name) => Buffer.from(name, 'latin1'));
  }

  read<T>(action: (table: JournalTable) => T): T {
    return action(this);
  }

  commit(action: (table: JournalTable) => void, settle: (error?: StoreError) => void): void {
    action(this);
    settle();
  }

  async close(): Promise<void> {
    this.#rows.clear();
  }
}

function nameOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
