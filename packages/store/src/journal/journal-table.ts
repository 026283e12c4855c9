import type { StoreError } from '../store-error.ts';

/**
 * The storage of a journal: bytes by bytes. All guarantees of journals are built on this, so memory and disk cannot
 * differ in them.
 */
export interface JournalTable {
  /** The caller owns the result. */
  get(key: Uint8Array): Uint8Array | undefined;
  /** Copies key and bytes: the caller may reuse them. */
  put(key: Uint8Array, bytes: Uint8Array): void;
  remove(key: Uint8Array): void;
  /** All keys that begin with `prefix`, in the order of their bytes. The table is not changed while they are read. */
  keys(prefix: Uint8Array): Iterable<Uint8Array>;
}

export interface JournalHost {
  /** Reads what is committed. */
  read<T>(action: (table: JournalTable) => T): T;
  /**
   * Runs the action in one transaction, at once or later, and calls `settle` when all of its changes are durable, or with an
   * error when none of them may be relied on. There is no other transaction of this host until then. Rejects with
   * `journal-fenced` if another process has taken over the table.
   */
  commit(action: (table: JournalTable) => void, settle: (error?: StoreError) => void): void;
  close(): Promise<void>;
}
