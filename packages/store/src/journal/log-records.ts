/** The keys of the records of one log, without its snapshot, by number: the latest as they are, those before them packed. */
import { PackedKeys } from './packed-keys.ts';
import type { RecordKey } from './record-format.ts';

/** So many keys are kept as they are: most streams are idle, and have fewer. */
const recentMax = 32;
/** An empty list of its own takes memory too. */
const none: RecordKey[] = [];

export class LogRecords {
  #packed: PackedKeys | undefined;
  #recent: RecordKey[] = none;

  get isEmpty(): boolean {
    return this.#packed === undefined && this.#recent.length === 0;
  }

  push(key: RecordKey): void {
    // An array that grows has room for 17, and idle streams have one record.
    if (this.#recent.length === 0) this.#recent = [key];
    else this.#recent.push(key);
    if (this.#recent.length >= recentMax) this.#pack();
  }

  all(): readonly RecordKey[] {
    return this.#packed === undefined ? this.#recent : [...this.#packed.all(), ...this.#recent];
  }

  /** Nothing is appended for a while, or ever: no more memory is kept than the keys need. */
  pack(): void {
    this.#pack();
    this.#packed?.shrink();
  }

  /** Removes the records with nothing after this entry. */
  takeUpTo(entry: number): readonly RecordKey[] {
    const keys = this.all();
    const kept = keys.findIndex((key) => lastEntryOf(key) > entry);
    const taken = kept === -1 ? keys : keys.slice(0, kept);
    if (taken.length === 0) return taken;
    this.#packed = undefined;
    this.#recent = none;
    if (kept !== -1) for (const key of keys.slice(kept)) this.push(key);
    return taken;
  }

  #pack(): void {
    const [first] = this.#recent;
    if (first === undefined) return;
    this.#packed ??= new PackedKeys(first.life);
    for (const key of this.#recent) this.#packed.push(key);
    this.#recent = none;
  }
}

export function lastEntryOf({ first, count }: RecordKey): number {
  return first + count - 1;
}
