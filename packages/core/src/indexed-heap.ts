/** An entry of a heap knows its index there, so that removing it is cheap; -1: it is in no heap. */
export interface IndexedEntry {
  heapIndex: number;
}

/** A binary heap, smallest entry first. */
export abstract class IndexedHeap<Entry extends IndexedEntry> {
  readonly #entries: Entry[] = [];

  protected abstract isBefore(left: Entry, right: Entry): boolean;

  get count(): number {
    return this.#entries.length;
  }

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  remove(entry: Entry): void {
    const index = entry.heapIndex;
    if (index === -1) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop() as Entry;
    if (last !== entry) this.#settle(last, index);
  }

  protected insert(entry: Entry): void {
    this.#rise(entry, this.#entries.length);
  }

  /** The entry is in the heap and its order has changed. */
  protected move(entry: Entry): void {
    this.#settle(entry, entry.heapIndex);
  }

  #settle(entry: Entry, index: number): void {
    if (index > 0 && this.isBefore(entry, this.#entries[(index - 1) >> 1] as Entry)) this.#rise(entry, index);
    else this.#sink(entry, index);
  }

  #rise(entry: Entry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex] as Entry;
      if (!this.isBefore(entry, parent)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(entry, index);
  }

  #sink(entry: Entry, from: number): void {
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = this.#entries[childIndex];
      if (child === undefined) break;
      const sibling = this.#entries[childIndex + 1];
      if (sibling !== undefined && this.isBefore(sibling, child)) {
        child = sibling;
        childIndex += 1;
      }
      if (!this.isBefore(child, entry)) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(entry, index);
  }

  #put(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}
