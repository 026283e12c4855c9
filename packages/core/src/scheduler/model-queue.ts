import { assert } from '../assert.ts';
import type { RequestEntry } from './request-entry.ts';

/**
 * The waiting requests of one model, always in the order of their arrival: a request that comes back from a lost worker
 * takes its old place. A doubly linked list, so that cancelling costs the same wherever the request stands.
 */
export class ModelQueue {
  oldest: RequestEntry | undefined = undefined;
  requestCount = 0;
  byteCount = 0;
  #youngest: RequestEntry | undefined = undefined;

  /** Adds a request that is younger than all. */
  append(entry: RequestEntry): void {
    assert(this.#youngest === undefined || this.#youngest.arrival < entry.arrival, 'a queue is in order of arrival');
    this.#link(this.#youngest, entry, undefined);
  }

  /**
   * Puts requests back, given in order of arrival. The search starts at the old end, where they came from, with the
   * youngest of them first: so the others find their place at once.
   */
  putBack(entries: readonly RequestEntry[]): void {
    for (let index = entries.length - 1; index >= 0; index--) {
      const entry = entries[index] as RequestEntry;
      let younger = this.oldest;
      while (younger !== undefined && younger.arrival < entry.arrival) younger = younger.younger;
      this.#link(younger === undefined ? this.#youngest : younger.older, entry, younger);
    }
  }

  remove(entry: RequestEntry): void {
    assert(entry.isWaiting, 'only a waiting request can leave its queue');
    const { older, younger } = entry;
    if (older === undefined) this.oldest = younger;
    else older.younger = younger;
    if (younger === undefined) this.#youngest = older;
    else younger.older = older;
    entry.older = undefined;
    entry.younger = undefined;
    entry.isWaiting = false;
    this.requestCount -= 1;
    this.byteCount -= entry.bytes;
  }

  #link(older: RequestEntry | undefined, entry: RequestEntry, younger: RequestEntry | undefined): void {
    assert(!entry.isWaiting && entry.batch === undefined, 'a request waits in one queue, or is in a batch');
    entry.older = older;
    entry.younger = younger;
    if (older === undefined) this.oldest = entry;
    else older.younger = entry;
    if (younger === undefined) this.#youngest = entry;
    else younger.older = entry;
    entry.isWaiting = true;
    this.requestCount += 1;
    this.byteCount += entry.bytes;
  }
}
