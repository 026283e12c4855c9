/**
 * The seam between the router and what must outlive it: small values by key, changed only as somebody saw them, watched,
 * and gone with the lease they were put under. Memory, lmdb and later NATS stand behind it; one contract suite holds
 * them all.
 *
 * What callers rely on:
 * - a `put` or `remove` that resolved is as durable as the store promises, and every later `get` and `list` shows it;
 * - revisions rise over the whole store: a later change has a higher one;
 * - a watch tells what is there first, then every change in order, none twice, none left out;
 * - keys are text of 1 to `keyBytesMax` bytes, parts joined by `/`; values have at most `valueBytesMax` bytes.
 */
export interface MetadataStore {
  get(key: string): Promise<MetadataEntry | undefined>;
  /** Everything whose key begins with `prefix`, by key. */
  list(prefix: string): Promise<readonly MetadataEntry[]>;
  /** The new revision; undefined when the key is not as `expected`, and nothing was changed. */
  put(key: string, value: Uint8Array, options?: PutOptions): Promise<number | undefined>;
  /** True when it was removed; false when it was not there, or not as expected. */
  remove(key: string, expectedRevision?: number): Promise<boolean>;
  /** Returns the way to stop, once the listener has been told all that is there. */
  watch(prefix: string, listener: (change: MetadataChange) => void): Promise<() => void>;
  /** What is put under the lease goes when nobody has renewed it for that long, also after this process died. */
  grantLease(lifeMs: number): Promise<MetadataLease>;
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
export const valueBytesMax = 1024 * 1024;
