/**
 * What a store keeps its records in: bytes by text, in the order of the bytes of the keys. All that stores promise is
 * made of this, so memory and disk cannot differ in it.
 */
export interface Table {
  get(key: string): Uint8Array | undefined;
  /** The bytes are the table's from here on. */
  put(key: string, bytes: Uint8Array): void;
  remove(key: string): void;
  /** All whose key begins with `prefix`. The table is not changed while they are read. */
  range(prefix: string): readonly (readonly [key: string, bytes: Uint8Array])[];
}

export interface TableHost {
  /** Sees every write that resolved, and nothing of one that did not. */
  read<T>(action: (table: Table) => T): T;
  /**
   * Carries out actions in the order in which they were asked for, each as a whole or not at all; resolves, in that
   * order, when what the action did is durable. The action may be called later, and only once.
   */
  write<T>(action: (table: Table) => T): Promise<T>;
  close(): Promise<void>;
}
