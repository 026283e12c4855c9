import { assert } from '../assert.ts';
import type { RequestEntry } from './request-entry.ts';

/** What lies in a heap knows its place there; -1: it is in none. */
export interface DueEntry {
  /** Undefined or Infinity: never. */
  dueAt: number | undefined;
  readonly arrival: number;
  heapIndex: number;
}

/**
 * Requests by the time at which something is due for them (their deadline, or before it the end of the time they may
 * wait), soonest first. Most are answered long before, so leaving must be cheap: an entry knows its place. Requests for
 * which time alone means nothing are never in it.
 */
export class DeadlineHeap<Entry extends DueEntry = RequestEntry> {
  readonly #entries: Entry[] = [];

  get count(): number {
    return this.#entries.length;
  }

  /** Infinity when there is none. */
  get soonestAt(): number {
    return this.#entries[0]?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** The request that has been due for longest; it stays until removed or due later. */
  takeExpired(nowMs: number): Entry | undefined {
    const soonest = this.#entries[0];
    return soonest !== undefined && timeOf(soonest) <= nowMs ? soonest : undefined;
  }

  add(entry: Entry): void {
    if (entry.dueAt === undefined || entry.dueAt === Number.POSITIVE_INFINITY) return;
    assert(entry.heapIndex === -1, 'a request has one deadline');
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  remove(entry: Entry): void {
    const index = entry.heapIndex;
    if (index === -1) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop() as Entry;
    if (last === entry) return;
    if (index > 0 && isSooner(last, this.#entries[(index - 1) >> 1] as Entry)) this.#rise(last, index);
    else this.#sink(last, index);
  }

  /** The request is due at another time than before. */
  setDue(entry: Entry, dueAt: number): void {
    if (entry.dueAt === dueAt) return;
    this.remove(entry);
    entry.dueAt = dueAt;
    this.add(entry);
  }

  #rise(entry: Entry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex] as Entry;
      if (!isSooner(entry, parent)) break;
      this.#place(parent, index);
      index = parentIndex;
    }
    this.#place(entry, index);
  }

  #sink(entry: Entry, from: number): void {
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = this.#entries[childIndex];
      if (child === undefined) break;
      const sibling = this.#entries[childIndex + 1];
      if (sibling !== undefined && isSooner(sibling, child)) {
        child = sibling;
        childIndex += 1;
      }
      if (!isSooner(child, entry)) break;
      this.#place(child, index);
      index = childIndex;
    }
    this.#place(entry, index);
  }

  #place(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}

/** What is due at the same time is dealt with in order of arrival. */
function isSooner(left: DueEntry, right: DueEntry): boolean {
  const leftAt = timeOf(left);
  const rightAt = timeOf(right);
  return leftAt < rightAt || (leftAt === rightAt && left.arrival < right.arrival);
}

/** Whatever is in the heap has one. */
function timeOf(entry: DueEntry): number {
  return entry.dueAt as number;
}
