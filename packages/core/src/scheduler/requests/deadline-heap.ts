import { assert } from '../../assert.ts';
import { type IndexedEntry, IndexedHeap } from '../../indexed-heap.ts';
import type { RequestEntry } from './request-entry.ts';

export interface DueEntry extends IndexedEntry {
  /** Undefined or Infinity: never. */
  dueAt: number | undefined;
  readonly arrival: number;
}

/**
 * Requests by the time at which something is due for them (their deadline, or before it their queue timeout), soonest
 * first. Most are answered long before, so removal must be cheap. Requests without a deadline or timeout are never in
 * it.
 */
export class DeadlineHeap<Entry extends DueEntry = RequestEntry> extends IndexedHeap<Entry> {
  /** Requests due at the same time are handled in order of arrival. */
  protected override isBefore(left: Entry, right: Entry): boolean {
    const leftAt = timeOf(left);
    const rightAt = timeOf(right);
    return leftAt < rightAt || (leftAt === rightAt && left.arrival < right.arrival);
  }

  /** Infinity when there is none. */
  get soonestAt(): number {
    return this.first?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** The request that has been due for longest; it stays until removed or due later. */
  takeExpired(nowMs: number): Entry | undefined {
    const soonest = this.first;
    return soonest !== undefined && timeOf(soonest) <= nowMs ? soonest : undefined;
  }

  add(entry: Entry): void {
    if (entry.dueAt === undefined || entry.dueAt === Number.POSITIVE_INFINITY) return;
    assert(entry.heapIndex === -1, 'a request has one deadline');
    this.insert(entry);
  }

  /** The request is due at another time than before. */
  setDue(entry: Entry, dueAt: number): void {
    if (entry.dueAt === dueAt) return;
    this.remove(entry);
    entry.dueAt = dueAt;
    this.add(entry);
  }
}

/** Every request in the heap has one. */
function timeOf(entry: DueEntry): number {
  return entry.dueAt as number;
}
