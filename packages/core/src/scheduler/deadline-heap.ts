import { assert } from '../assert.ts';
import type { RequestEntry } from './request-entry.ts';

/**
 * Requests by deadline, soonest first. Most are answered long before, so leaving must be cheap: an entry knows its
 * place. Requests without a deadline are never in it.
 */
export class DeadlineHeap {
  readonly #entries: RequestEntry[] = [];

  get count(): number {
    return this.#entries.length;
  }

  /** Infinity when there is none. */
  get soonestAt(): number {
    return this.#entries[0]?.deadlineAt ?? Number.POSITIVE_INFINITY;
  }

  /** The request whose deadline has passed longest ago; it stays until removed. */
  takeExpired(nowMs: number): RequestEntry | undefined {
    const soonest = this.#entries[0];
    return soonest !== undefined && soonest.deadlineAt <= nowMs ? soonest : undefined;
  }

  add(entry: RequestEntry): void {
    if (entry.deadlineAt === Number.POSITIVE_INFINITY) return;
    assert(entry.heapIndex === -1, 'a request has one deadline');
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  remove(entry: RequestEntry): void {
    const index = entry.heapIndex;
    if (index === -1) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop() as RequestEntry;
    if (last === entry) return;
    if (index > 0 && isSooner(last, this.#entries[(index - 1) >> 1] as RequestEntry)) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(entry: RequestEntry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex] as RequestEntry;
      if (!isSooner(entry, parent)) break;
      this.#place(parent, index);
      index = parentIndex;
    }
    this.#place(entry, index);
  }

  #sink(entry: RequestEntry, from: number): void {
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

  #place(entry: RequestEntry, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}

/** Equal deadlines expire in order of arrival. */
function isSooner(left: RequestEntry, right: RequestEntry): boolean {
  return left.deadlineAt < right.deadlineAt || (left.deadlineAt === right.deadlineAt && left.arrival < right.arrival);
}
