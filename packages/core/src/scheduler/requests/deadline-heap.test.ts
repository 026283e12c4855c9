import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryOf, modelWith } from '../testing/entries.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import type { RequestEntry } from './request-entry.ts';

const model = modelWith();

function dueAt(request: number, deadlineAt: number): RequestEntry {
  return entryOf(model, request, { deadlineAt });
}

test('the soonest deadline is first, whoever leaves in between; equal ones expire in order of arrival', () => {
  const step = fc.record({ deadlineAt: fc.nat(20), leaver: fc.option(fc.nat(), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const heap = new DeadlineHeap();
      const present: RequestEntry[] = [];
      for (const [index, { deadlineAt, leaver }] of steps.entries()) {
        const entry = dueAt(index, deadlineAt);
        heap.add(entry);
        present.push(entry);
        if (leaver !== undefined) {
          const [left] = present.splice(leaver % present.length, 1);
          if (left !== undefined) heap.remove(left);
        }
        const soonest = Math.min(...present.map((other) => other.deadlineAt));
        expect(heap.soonestAt).toBe(soonest);
      }
      const expired: RequestEntry[] = [];
      for (let late = heap.takeExpired(20); late !== undefined; late = heap.takeExpired(20)) {
        expired.push(late);
        heap.remove(late);
      }
      present.sort((left, right) => left.deadlineAt - right.deadlineAt || left.arrival - right.arrival);
      expect(expired).toEqual(present);
      expect(heap.count).toBe(0);
    }),
    { seed: 1, numRuns: 200 },
  );
});

test('a deadline has passed at its very millisecond, not before', () => {
  const heap = new DeadlineHeap();
  const entry = dueAt(1, 50);
  heap.add(entry);
  expect(heap.takeExpired(49)).toBeUndefined();
  expect(heap.takeExpired(50)).toBe(entry);
});

test('requests without a deadline are not added, and removing twice does nothing', () => {
  const heap = new DeadlineHeap();
  const endless = dueAt(1, Number.POSITIVE_INFINITY);
  heap.add(endless);
  expect(heap.count).toBe(0);
  heap.remove(endless);
  expect(heap.soonestAt).toBe(Number.POSITIVE_INFINITY);
});

test('a request that is due at another time is reordered', () => {
  const heap = new DeadlineHeap();
  const [early, late] = [dueAt(1, 10), dueAt(2, 20)];
  heap.add(early);
  heap.add(late);
  heap.setDue(early, 30);
  expect(heap.takeExpired(25)).toBe(late);
  heap.setDue(late, Number.POSITIVE_INFINITY);
  expect([heap.count, heap.soonestAt]).toEqual([1, 30]);
});
