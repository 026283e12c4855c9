/** Which results are kept: the most recently used ones, within a number of bytes and, where one is set, an age. */
import { assert } from '../assert.ts';

/** What an entry costs beside its value: its key, its place in the table, the objects around its bytes. */
export const entryOverheadBytes = 512;

export interface StoredResultsLimits {
  /** Of all entries together, their overhead included. */
  readonly bytesMax: number;
  /** A larger result is not kept: it would drive out many that are of more use. */
  readonly entryBytesMax: number;
  /** An older entry counts as absent; Infinity: entries do not age. */
  readonly ageMsMax: number;
}

interface Entry<Value, Group> {
  readonly group: Group;
  readonly value: Value;
  readonly bytes: number;
  readonly storedAt: number;
}

/** Values under keys, each of a group by which it can be forgotten. */
export class StoredResults<Value, Group> {
  readonly #limits: StoredResultsLimits;
  /** The least recently used first: a map keeps the order in which its keys were set. */
  readonly #entries = new Map<string, Entry<Value, Group>>();
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

  /** Entries that made room for others, or had grown too old, since the beginning. */
  get evictions(): number {
    return this.#evictions;
  }

  /** Whether a result of this size would be kept at all. */
  keeps(bytes: number): boolean {
    return bytes <= this.#limits.entryBytesMax && bytes + entryOverheadBytes <= this.#limits.bytesMax;
  }

  /** The value under the key, which is thereby the most recently used one. */
  take(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (now - entry.storedAt > this.#limits.ageMsMax) {
      this.#bytes -= entry.bytes;
      this.#evictions += 1;
      return undefined;
    }
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value that `keeps` has said yes to; whatever was used longest ago makes room. */
  put(key: string, group: Group, value: Value, valueBytes: number, now: number): void {
    assert(this.keeps(valueBytes), 'only what may be kept is put');
    const bytes = valueBytes + entryOverheadBytes;
    const replaced = this.#entries.get(key);
    if (replaced !== undefined) {
      this.#entries.delete(key);
      this.#bytes -= replaced.bytes;
    }
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes + bytes <= this.#limits.bytesMax) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
      this.#evictions += 1;
    }
    this.#entries.set(key, { group, value, bytes, storedAt: now });
    this.#bytes += bytes;
  }

  /** Forgets the entries of the groups that are meant; how many there were. */
  flush(isMeant: (group: Group) => boolean): number {
    let flushed = 0;
    for (const [key, entry] of this.#entries) {
      if (!isMeant(entry.group)) continue;
      this.#entries.delete(key);
      this.#bytes -= entry.bytes;
      flushed += 1;
    }
    return flushed;
  }
}
