/**
 * The storage of a store's records: bytes by text, in the order of the bytes of the keys. All guarantees of stores are
 * built on this, so memory and disk cannot differ in them.
 */
export interface Table {
  get(key: string): Uint8Array | undefined;
  /** The table owns the bytes from here on. */
  put(key: string, bytes: Uint8Array): void;
  remove(key: string): void;
  /** All entries whose key begins with `prefix`. The table is not changed while they are read. */
  range(prefix: string): readonly (readonly [key: string, bytes: Uint8Array])[];
}

export interface TableHost {
  /** Sees every write that resolved, and nothing of one that did not. */
  read<T>(action: (table: Table) => T): T;
  /**
   * Runs actions in the order in which they were requested, each atomically; resolves, in that order, when the changes
   * of the action are durable. The action may be called later, and only once.
   */
  write<T>(action: (table: Table) => T): Promise<T>;
  close(): Promise<void>;
}
