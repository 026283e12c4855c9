import { type IndexedEntry, IndexedHeap } from '../indexed-heap.ts';

export interface HeapEntry extends IndexedEntry {
  heapKey: number;
}

/** Entries by a number, smallest first. */
export class WaitHeap<Entry extends HeapEntry> extends IndexedHeap<Entry> {
  protected override isBefore(left: Entry, right: Entry): boolean {
    return left.heapKey < right.heapKey;
  }

  /** Adds the entry, or moves it when it is there already. */
  put(entry: Entry, key: number): void {
    entry.heapKey = key;
    if (entry.heapIndex === -1) this.insert(entry);
    else this.move(entry);
  }
}
