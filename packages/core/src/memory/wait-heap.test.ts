import { expect, test } from 'vitest';
import { Dice } from './testing/dice.ts';
import { type HeapEntry, WaitHeap } from './wait-heap.ts';

const entryOf = (): HeapEntry => ({ heapKey: 0, heapIndex: -1 });

test('an empty heap has no first entry', () => {
  expect(new WaitHeap().first).toBeUndefined();
});

test('the first is the least, whatever is added, moved and removed', () => {
  const dice = new Dice(1);
  const heap = new WaitHeap<HeapEntry>();
  const entries = Array.from({ length: 50 }, entryOf);
  for (let event = 0; event < 5000; event++) {
    const entry = dice.pick(entries);
    if (dice.oneIn(3)) heap.remove(entry);
    else heap.put(entry, dice.below(100));
    const keys = entries.filter(({ heapIndex }) => heapIndex !== -1).map(({ heapKey }) => heapKey);
    expect(heap.first?.heapKey).toBe(keys.length === 0 ? undefined : Math.min(...keys));
  }
});

test('an entry that is in no heap is removed without effect', () => {
  const heap = new WaitHeap<HeapEntry>();
  const entry = entryOf();
  heap.put(entry, 1);
  heap.remove(entryOf());
  expect(heap.first).toBe(entry);
});
