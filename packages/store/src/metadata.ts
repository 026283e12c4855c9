/**
 * The seam between the router and what must outlive it: small values by key, changed by compare-and-set, watched, and
 * removed with their lease. Memory, lmdb and later NATS implement it; one contract suite checks
 * them all.
 *
 * What callers rely on:
 * - a `put` or `remove` that resolved is as durable as the store promises, and every later `get` and `list` shows it;
 * - revisions increase over the whole store: a later change has a higher one, and no two changes have the same;
 * - a watch reports existing entries first, by key, then changes in the order of their revisions, none twice, and the
 * last
 *   one of every key. Memory and lmdb omit none; a replicated store may omit a value that was overwritten before it
 *   could be reported, so nobody may rely on seeing those between;
 * - a change has been reported to the watches of this store before the promise of its writer resolves;
 * - keys are text of 1 to `keyBytesMax` bytes: parts joined by `/`, none of them empty; values have at most
 *   `valueBytesMax` bytes. A prefix is empty or whole parts, each followed by its `/`.
 *
 * Every error is a `StoreError`.
 */
export interface MetadataStore {
  get(key: string): Promise<MetadataEntry | undefined>;
  /** All entries whose key begins with `prefix`, by the bytes of the key. */
  list(prefix: string): Promise<readonly MetadataEntry[]>;
  /** The new revision; undefined when the key is not as `expected`, and nothing was changed. */
  put(key: string, value: Uint8Array, options?: PutOptions): Promise<number | undefined>;
  /** True when it was removed; false when it did not exist, or not as expected. */
  remove(key: string, expectedRevision?: number): Promise<boolean>;
  /**
   * Returns a function that stops the watch, once the listener has been told all existing entries. The listener must
   * not throw.
   */
  watch(prefix: string, listener: (change: MetadataChange) => void): Promise<() => void>;
  /**
   * Entries under the lease are removed when it has not been renewed for that long, also after this process died. From
   * `leaseMsMin` to `leaseMsMax`.
   */
  grantLease(lifeMs: number): Promise<MetadataLease>;
  /** Ends watches; leases keep running, since they may only end when their time is up. */
  close(): Promise<void>;
}

export interface MetadataEntry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of its last change. */
  readonly revision: number;
}

export interface PutOptions {
  /** The revision it must have, or `absent`; without it the value is put unconditionally. */
  readonly expected?: number | 'absent';
  /** A lease of this store; without one the value stays, even if the value before it was under a lease. */
  readonly lease?: MetadataLease;
}

export type MetadataChange =
  | { readonly kind: 'put'; readonly entry: MetadataEntry }
  | { readonly kind: 'removed'; readonly key: string; readonly revision: number };

export interface MetadataLease {
  /** False when it was too late: the entries under it were removed. */
  renew(): Promise<boolean>;
  /** Removes all entries under it at once. */
  revoke(): Promise<void>;
}

export const keyBytesMax = 512;
/** Together with its headers a value fits into one message of a NATS server with its default limit, 1 MiB. */
export const valueBytesMax = 512 * 1024;
/** The finest resolution that a replicated store can time. */
export const leaseMsMin = 1000;
export const leaseMsMax = 24 * 3_600_000;
