/** A metadata store on a table: revisions, comparisons, watches and leases, whatever the table is stored in. */
import { checkKey, checkLeaseLife, checkPrefix, checkValue } from './limits.ts';
import type { MetadataChange, MetadataEntry, MetadataLease, MetadataStore, PutOptions } from './metadata.ts';
import {
  allLeases,
  entriesOfLease,
  entriesUnder,
  entryAt,
  lastRevision,
  leaseAt,
  nextLease,
  nextRevision,
  putEntry,
  putLease,
  removeEntry,
  removeLease,
  type StoredEntry,
} from './records.ts';
import type { StoreClock } from './store-clock.ts';
import { StoreError } from './store-error.ts';
import type { Table, TableHost } from './table.ts';
import { Watchers } from './watchers.ts';

/** A timer cannot be set for longer than about 25 days; one that fires early is set again. */
const alarmMsMax = 3_600_000;

/** One write transaction: the table as seen in it, and its changes so far. */
interface Writing {
  readonly table: Table;
  readonly now: number;
  readonly changes: MetadataChange[];
}

export class TableStore implements MetadataStore {
  readonly #host: TableHost;
  readonly #clock: StoreClock;
  readonly #watchers = new Watchers();
  readonly #leases = new WeakMap<MetadataLease, number>();
  /** Settles when every write requested so far has been reported or has failed. */
  #told: Promise<unknown> = Promise.resolve();
  #nextExpiryAt = Number.POSITIVE_INFINITY;
  #callOffAlarm: (() => void) | undefined;
  #isClosed: boolean = false;

  private constructor(host: TableHost, clock: StoreClock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** Leases that expired while nobody had the store open are removed before anyone can see their entries. */
  static async open(host: TableHost, clock: StoreClock): Promise<TableStore> {
    const store = new TableStore(host, clock);
    await store.#write(({ table, now }) => {
      for (const { lease, lifeMs, expiresAt } of allLeases(table)) {
        // The time of day was set back: nobody can have renewed it for longer than its life.
        if (expiresAt > now + lifeMs) putLease(table, { lease, lifeMs, expiresAt: now + lifeMs });
      }
    });
    return store;
  }

  async get(key: string): Promise<MetadataEntry | undefined> {
    checkKey(key);
    await this.#readable();
    const entry = this.#host.read((table) => entryAt(table, key));
    return entry === undefined ? undefined : visible(entry);
  }

  async list(prefix: string): Promise<readonly MetadataEntry[]> {
    checkPrefix(prefix);
    await this.#readable();
    return this.#host.read((table) => entriesUnder(table, prefix)).map(visible);
  }

  async put(key: string, value: Uint8Array, options: PutOptions = {}): Promise<number | undefined> {
    checkKey(key);
    checkValue(key, value);
    const { expected } = options;
    const lease = options.lease === undefined ? 0 : this.#mustKnow(options.lease);
    // The caller may reuse its bytes before the action runs.
    const kept = Uint8Array.from(value);
    const revision = await this.#write(({ table, changes }) => {
      if (lease !== 0 && leaseAt(table, lease) === undefined) return 'lease-expired';
      const before = entryAt(table, key);
      if (expected !== undefined && (before?.revision ?? 'absent') !== expected) return undefined;
      const entry = { key, value: kept, revision: nextRevision(table), lease };
      putEntry(table, entry, before);
      changes.push({ kind: 'put', entry: visible(entry) });
      return entry.revision;
    });
    if (revision !== 'lease-expired') return revision;
    throw new StoreError('lease-expired', `the lease for ${key} has expired; request a new one`);
  }

  async remove(key: string, expectedRevision?: number): Promise<boolean> {
    checkKey(key);
    return this.#write((writing) => {
      const before = entryAt(writing.table, key);
      if (before === undefined) return false;
      if (expectedRevision !== undefined && before.revision !== expectedRevision) return false;
      drop(writing, before);
      return true;
    });
  }

  async watch(prefix: string, listener: (change: MetadataChange) => void): Promise<() => void> {
    checkPrefix(prefix);
    await this.#readable();
    const [present, revision] = this.#host.read((table) => [entriesUnder(table, prefix), lastRevision(table)] as const);
    return this.#watchers.add(prefix, listener, present, revision);
  }

  async grantLease(lifeMs: number): Promise<MetadataLease> {
    checkLeaseLife(lifeMs);
    const id = await this.#write(({ table, now }) => {
      const lease = nextLease(table);
      putLease(table, { lease, lifeMs, expiresAt: now + lifeMs });
      return lease;
    });
    const lease: MetadataLease = { renew: () => this.#renew(id), revoke: () => this.#revoke(id) };
    this.#leases.set(lease, id);
    return lease;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#callOffAlarm?.();
    await this.#told;
    this.#watchers.clear();
    await this.#host.close();
  }

  async #renew(lease: number): Promise<boolean> {
    return this.#write(({ table, now }) => {
      const known = leaseAt(table, lease);
      if (known === undefined) return false;
      putLease(table, { ...known, expiresAt: now + known.lifeMs });
      return true;
    });
  }

  async #revoke(lease: number): Promise<void> {
    return this.#write((writing) => end(writing, lease));
  }

  /** Before anything is read, expired entries are removed, however late the timer is. */
  async #readable(): Promise<void> {
    this.#checkOpen();
    if (this.#clock.now() >= this.#nextExpiryAt) await this.#write(() => undefined);
  }

  /**
   * Writes see no expired lease. Watches are told in the order of the writes, before the caller is. An action
   * must not throw: entries that expired just before it would be removed without being reported.
   */
  #write<T>(action: (writing: Writing) => T): Promise<T> {
    this.#checkOpen();
    const before = this.#told;
    const written = this.#host.write((table) => {
      const writing: Writing = { table, now: this.#clock.now(), changes: [] };
      for (const { lease, expiresAt } of allLeases(table)) if (expiresAt <= writing.now) end(writing, lease);
      const result = action(writing);
      const nextExpiryAt = Math.min(...allLeases(table).map(({ expiresAt }) => expiresAt));
      return { result, changes: writing.changes, nextExpiryAt };
    });
    const told = (async () => {
      const { result, changes, nextExpiryAt } = await afterAll(before, written);
      this.#setAlarm(nextExpiryAt);
      for (const change of changes) this.#watchers.tell(change);
      return result;
    })();
    this.#told = told.catch(() => {});
    return told;
  }

  #setAlarm(at: number): void {
    this.#nextExpiryAt = at;
    this.#callOffAlarm?.();
    this.#callOffAlarm = undefined;
    if (this.#isClosed || at === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(0, at - this.#clock.now()), alarmMsMax);
    this.#callOffAlarm = this.#clock.alarm(delayMs, () => {
      // The next read or write tries again, and reports why it failed.
      this.#write(() => undefined).catch(() => {});
    });
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new StoreError('store-closed', 'the store has been closed');
  }

  #mustKnow(lease: MetadataLease): number {
    const id = this.#leases.get(lease);
    if (id === undefined) throw new StoreError('lease-invalid', 'the lease is not one of this store');
    return id;
  }
}

/** The outcome of `written`, once `before` has settled too. */
async function afterAll<T>(before: Promise<unknown>, written: Promise<T>): Promise<T> {
  const [outcome] = await Promise.allSettled([written, before]);
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

function drop({ table, changes }: Writing, entry: StoredEntry): void {
  removeEntry(table, entry);
  changes.push({ kind: 'removed', key: entry.key, revision: nextRevision(table) });
}

function end(writing: Writing, lease: number): void {
  for (const entry of entriesOfLease(writing.table, lease)) drop(writing, entry);
  removeLease(writing.table, lease);
}

function visible({ key, value, revision }: StoredEntry): MetadataEntry {
  return { key, value, revision };
}
