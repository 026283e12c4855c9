/**
 * Which results are cached: the most recently used ones, within a number of bytes and, if set, an age. When the cache
 * is full, an owner that has its share evicts its own entries.
 */
import { copyOfText } from '@millrace/protocol';
import { assert } from '../assert.ts';

/** Cost of an entry beside its value: its key, its entry in the table, the objects around its bytes. */
export const entryOverheadBytes = 512;

export interface StoredResultsLimits {
  /** Of all entries together, their overhead included. */
  readonly bytesMax: number;
  /** A larger result is not cached: it would evict many that are more useful. */
  readonly entryBytesMax: number;
  /** An older entry counts as absent; Infinity: entries do not expire. */
  readonly ageMsMax: number;
}

/** How many of the least recently used entries are checked for one whose owner has more than its share. */
const evictionChecksMax = 64;

/** The entries of one owner. */
class OwnerResults {
  readonly name: string;
  bytes = 0;
  /** The least recently used first. */
  readonly keys = new Set<string>();

  constructor(name: string) {
    this.name = name;
  }
}

interface Entry<Value, Group> {
  readonly owner: OwnerResults;
  readonly group: Group;
  readonly value: Value;
  readonly bytes: number;
  readonly storedAt: number;
}

/** Values by key, each with an owner whose share it counts against and a group by which it can be removed. */
export class StoredResults<Value, Group> {
  readonly #limits: StoredResultsLimits;
  /** The least recently used first: a map keeps the order in which its keys were set. */
  readonly #entries = new Map<string, Entry<Value, Group>>();
  readonly #owners = new Map<string, OwnerResults>();
  #bytes = 0;
  #evictions = 0;

  constructor(limits: StoredResultsLimits) {
    assert(limits.bytesMax >= 0 && limits.entryBytesMax >= 0 && limits.ageMsMax > 0, 'limits are not negative');
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#entries.size;
  }

  /** Owners of entries. */
  get owners(): number {
    return this.#owners.size;
  }

  /** Entries evicted or expired since the beginning. */
  get evictions(): number {
    return this.#evictions;
  }

  /** Whether a result of this size would be cached at all. */
  keeps(bytes: number): boolean {
    return bytes <= this.#limits.entryBytesMax && bytes + entryOverheadBytes <= this.#limits.bytesMax;
  }

  /** Whether a value is cached under the key; asking is not using. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The value under the key, which becomes the most recently used one. */
  take(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now - entry.storedAt > this.#limits.ageMsMax) {
      this.#evict(key, entry);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.owner.keys.delete(key);
    entry.owner.keys.add(key);
    return entry.value;
  }

  /** Caches a value of a size that `keeps` accepts. */
  put(key: string, owner: string, group: Group, value: Value, valueBytes: number, now: number): void {
    assert(this.keeps(valueBytes), 'the value is within the limits');
    const bytes = valueBytes + entryOverheadBytes;
    const replaced = this.#entries.get(key);
    if (replaced !== undefined) this.#remove(key, replaced);
    while (this.#bytes + bytes > this.#limits.bytesMax) {
      const oldest = this.#takeToEvict(owner, bytes);
      this.#evict(oldest, this.#entries.get(oldest) as Entry<Value, Group>);
    }
    let results = this.#owners.get(owner);
    if (results === undefined) {
      // Kept for longer than its request: a view would keep the head of the request alive.
      results = new OwnerResults(copyOfText(owner));
      this.#owners.set(results.name, results);
    }
    this.#entries.set(key, { owner: results, group, value, bytes, storedAt: now });
    results.keys.add(key);
    results.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Removes the entries of the matching groups; returns how many there were. */
  flush(isMeant: (group: Group) => boolean): number {
    let flushed = 0;
    for (const [key, entry] of this.#entries) {
      if (!isMeant(entry.group)) continue;
      this.#remove(key, entry);
      flushed += 1;
    }
    return flushed;
  }

  /** An owner with its share or more evicts its own entries, and never those of owners below their share. */
  #takeToEvict(owner: string, bytes: number): string {
    const own = this.#owners.get(owner);
    const share = this.#limits.bytesMax / (this.#owners.size + (own === undefined ? 1 : 0));
    if (own !== undefined && own.bytes + bytes > share) for (const key of own.keys) return key;
    let checked = 0;
    let oldest: string | undefined;
    for (const [key, entry] of this.#entries) {
      if (entry.owner.bytes > share) return key;
      oldest ??= key;
      checked += 1;
      if (checked === evictionChecksMax) break;
    }
    assert(oldest !== undefined, 'a full cache has an entry');
    return oldest;
  }

  #evict(key: string, entry: Entry<Value, Group>): void {
    this.#remove(key, entry);
    this.#evictions += 1;
  }

  #remove(key: string, { owner, bytes }: Entry<Value, Group>): void {
    this.#entries.delete(key);
    this.#bytes -= bytes;
    owner.keys.delete(key);
    owner.bytes -= bytes;
    if (owner.keys.size === 0) this.#owners.delete(owner.name);
  }
}
