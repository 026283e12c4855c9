/** The records of a store and their encoding in its table: entries, leases, the keys under each lease, the revision. */
import type { MetadataEntry } from './metadata.ts';
import type { Table } from './table.ts';

/** An entry with the lease it is under; 0: none. */
export interface StoredEntry extends MetadataEntry {
  readonly lease: number;
}

export interface StoredLease {
  readonly lease: number;
  readonly lifeMs: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

const entryHeadBytes = 16;

export function entryAt(table: Table, key: string): StoredEntry | undefined {
  const bytes = table.get(`entry/${key}`);
  return bytes === undefined ? undefined : entryFrom(key, bytes);
}

export function entriesUnder(table: Table, prefix: string): StoredEntry[] {
  return table.range(`entry/${prefix}`).map(([key, bytes]) => entryFrom(key.slice('entry/'.length), bytes));
}

export function putEntry(table: Table, entry: StoredEntry, before: StoredEntry | undefined): void {
  const bytes = Buffer.alloc(entryHeadBytes + entry.value.byteLength);
  bytes.writeDoubleLE(entry.revision, 0);
  bytes.writeDoubleLE(entry.lease, 8);
  bytes.set(entry.value, entryHeadBytes);
  table.put(`entry/${entry.key}`, bytes);
  if (before !== undefined && before.lease !== 0) table.remove(memberKey(before.lease, entry.key));
  if (entry.lease !== 0) table.put(memberKey(entry.lease, entry.key), new Uint8Array());
}

export function removeEntry(table: Table, entry: StoredEntry): void {
  table.remove(`entry/${entry.key}`);
  if (entry.lease !== 0) table.remove(memberKey(entry.lease, entry.key));
}

/** The last revision that was assigned; 0: none yet. */
export function lastRevision(table: Table): number {
  return numbersAt(table, 'last/revision')[0] ?? 0;
}

export function nextRevision(table: Table): number {
  return nextOf(table, 'last/revision');
}

export function nextLease(table: Table): number {
  return nextOf(table, 'last/lease');
}

export function leaseAt(table: Table, lease: number): StoredLease | undefined {
  const [lifeMs, expiresAt] = numbersAt(table, `lease/${lease}`);
  return lifeMs === undefined || expiresAt === undefined ? undefined : { lease, lifeMs, expiresAt };
}

export function allLeases(table: Table): readonly StoredLease[] {
  return table.range('lease/').map(([key]) => leaseAt(table, Number(key.slice('lease/'.length))) as StoredLease);
}

export function putLease(table: Table, { lease, lifeMs, expiresAt }: StoredLease): void {
  putNumbers(table, `lease/${lease}`, [lifeMs, expiresAt]);
}

export function removeLease(table: Table, lease: number): void {
  table.remove(`lease/${lease}`);
}

export function entriesOfLease(table: Table, lease: number): readonly StoredEntry[] {
  const prefix = memberKey(lease, '');
  return table.range(prefix).map(([key]) => entryAt(table, key.slice(prefix.length)) as StoredEntry);
}

function memberKey(lease: number, key: string): string {
  return `member/${lease}/${key}`;
}

function entryFrom(key: string, bytes: Uint8Array): StoredEntry {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    key,
    // A copy: the caller's changes to it must not affect the store.
    value: Uint8Array.from(view.subarray(entryHeadBytes)),
    revision: view.readDoubleLE(0),
    lease: view.readDoubleLE(8),
  };
}

function nextOf(table: Table, key: string): number {
  const next = (numbersAt(table, key)[0] ?? 0) + 1;
  putNumbers(table, key, [next]);
  return next;
}

function numbersAt(table: Table, key: string): readonly number[] {
  const bytes = table.get(key);
  return bytes === undefined ? [] : [...new Float64Array(Uint8Array.from(bytes).buffer)];
}

function putNumbers(table: Table, key: string, numbers: readonly number[]): void {
  table.put(key, new Uint8Array(Float64Array.from(numbers).buffer));
}
