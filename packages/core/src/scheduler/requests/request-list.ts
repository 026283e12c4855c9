import { assert } from '../../assert.ts';
import type { RequestEntry } from './request-entry.ts';

/**
 * Waiting requests in order of arrival: one that returns from a lost worker takes its old place. A doubly linked list
 * through the entries, so that cancelling costs the same wherever the request is.
 */
export class RequestList {
  oldest: RequestEntry | undefined = undefined;
  rowCount = 0;
  byteCount = 0;
  #youngest: RequestEntry | undefined = undefined;

  add(entry: RequestEntry): void {
    assert(!entry.isWaiting && entry.batch === undefined, 'a request waits in one queue, or is in a batch');
    const youngest = this.#youngest;
    if (youngest === undefined || youngest.arrival < entry.arrival) {
      this.#link(youngest, entry, undefined);
      return;
    }
    // It returns from a batch, so the search starts at the old end, where it came from.
    let younger = this.oldest;
    while (younger !== undefined && younger.arrival < entry.arrival) younger = younger.younger;
    this.#link(younger?.older, entry, younger);
  }

  remove(entry: RequestEntry): void {
    assert(entry.isWaiting && entry.list === this, 'only a waiting request can leave its queue');
    const { older, younger } = entry;
    if (older === undefined) this.oldest = younger;
    else older.younger = younger;
    if (younger === undefined) this.#youngest = older;
    else younger.older = older;
    entry.older = undefined;
    entry.younger = undefined;
    entry.list = undefined;
    this.rowCount -= entry.rows;
    this.byteCount -= entry.bytes;
  }

  #link(older: RequestEntry | undefined, entry: RequestEntry, younger: RequestEntry | undefined): void {
    entry.older = older;
    entry.younger = younger;
    if (older === undefined) this.oldest = entry;
    else older.younger = entry;
    if (younger === undefined) this.#youngest = entry;
    else younger.older = entry;
    entry.list = this;
    this.rowCount += entry.rows;
    this.byteCount += entry.bytes;
  }
}
