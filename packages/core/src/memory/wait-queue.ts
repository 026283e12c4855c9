/** An entry of a queue, linked to its neighbours. */
export interface QueueEntry<Entry> {
  before: Entry | undefined;
  after: Entry | undefined;
}

/** A linked list in order of arrival: removing from the middle costs the same as from the front. */
export class WaitQueue<Entry extends QueueEntry<Entry>> {
  first: Entry | undefined = undefined;
  #last: Entry | undefined = undefined;

  add(entry: Entry): void {
    entry.before = this.#last;
    if (this.#last === undefined) this.first = entry;
    else this.#last.after = entry;
    this.#last = entry;
  }

  /** The entry must be in the queue. */
  remove(entry: Entry): void {
    if (entry.before === undefined) this.first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === undefined) this.#last = entry.before;
    else entry.after.before = entry.before;
    entry.before = undefined;
    entry.after = undefined;
  }
}
