/**
 * The seam between the router and what must outlive it: small values by key, changed only as somebody saw them, watched,
 * and gone with the lease they were put under. Memory, lmdb and later NATS stand behind it; one contract suite holds
 * them all.
 *
 * What callers rely on:
 * - a `put` or `remove` that resolved is as durable as the store promises, and every later `get` and `list` shows it;
 * - revisions rise over the whole store: a later change has a higher one, and no two changes have the same;
 * - a watch tells what is there first, by key, then changes in the order of their revisions, none twice, and of every key
 *   the last one. Memory and lmdb leave none out; a replicated store may leave out a value that was overwritten before it
 *   could be told, so nobody may count on seeing those between;
 * - a change has been told to the watches of this store before the promise of whoever made it resolves;
 * - keys are text of 1 to `keyBytesMax` bytes: parts joined by `/`, none of them empty; values have at most
 *   `valueBytesMax` bytes. A prefix is empty or whole parts, each followed by its `/`.
 *
 * Every refusal is a `StoreError`.
 */
export interface MetadataStore {
  get(key: string): Promise<MetadataEntry | undefined>;
  /** Everything whose key begins with `prefix`, by the bytes of the key. */
  list(prefix: string): Promise<readonly MetadataEntry[]>;
  /** The new revision; undefined when the key is not as `expected`, and nothing was changed. */
  put(key: string, value: Uint8Array, options?: PutOptions): Promise<number | undefined>;
  /** True when it was removed; false when it was not there, or not as expected. */
  remove(key: string, expectedRevision?: number): Promise<boolean>;
  /** Returns the way to stop, once the listener has been told all that is there. The listener must not throw. */
  watch(prefix: string, listener: (change: MetadataChange) => void): Promise<() => void>;
  /**
   * What is put under the lease goes when nobody has renewed it for that long, also after this process died. From
   * `leaseMsMin` to `leaseMsMax`.
   */
  grantLease(lifeMs: number): Promise<MetadataLease>;
  /** Ends watches; leases run on, since they may only end when their time is up. */
  close(): Promise<void>;
}

export interface MetadataEntry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Of its last change. */
  readonly revision: number;
}

export interface PutOptions {
  /** The revision it must have, or `absent`; without it the value is put whatever is there. */
  readonly expected?: number | 'absent';
  /** Of this store; without one the value stays, also where the value before it was under a lease. */
  readonly lease?: MetadataLease;
}

export type MetadataChange =
  | { readonly kind: 'put'; readonly entry: MetadataEntry }
  | { readonly kind: 'removed'; readonly key: string; readonly revision: number };

export interface MetadataLease {
  /** False when it was too late: what was under it is gone. */
  renew(): Promise<boolean>;
  /** Removes at once what is under it. */
  revoke(): Promise<void>;
}

export const keyBytesMax = 512;
/** Together with its headers a value fits into one message of a NATS server with its default limit, 1 MiB. */
export const valueBytesMax = 512 * 1024;
/** The finest that a replicated store can time. */
export const leaseMsMin = 1000;
export const leaseMsMax = 24 * 3_600_000;
