/** What lies in a heap knows its place there; -1: it is in none. */
export interface HeapEntry {
  heapKey: number;
  heapIndex: number;
}

/** Entries by a number, least first. */
export class WaitHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  /** Adds the entry, or moves it when it is there already. */
  put(entry: Entry, key: number): void {
    const index = entry.heapIndex === -1 ? this.#entries.length : entry.heapIndex;
    const isLess = entry.heapIndex === -1 || key < entry.heapKey;
    entry.heapKey = key;
    if (isLess) this.#rise(entry, index);
    else this.#sink(entry, index);
  }

  remove(entry: Entry): void {
    const index = entry.heapIndex;
    if (index === -1) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop() as Entry;
    if (last === entry) return;
    if (last.heapKey < entry.heapKey) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(entry: Entry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex] as Entry;
      if (parent.heapKey <= entry.heapKey) break;
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
      if (sibling !== undefined && sibling.heapKey < child.heapKey) {
        child = sibling;
        childIndex += 1;
      }
      if (child.heapKey >= entry.heapKey) break;
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
