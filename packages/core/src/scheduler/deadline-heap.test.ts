import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resolveModelPolicy } from '../model-policy.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { ModelEntry } from './model-entry.ts';
import { RequestEntry } from './request-entry.ts';

const policy = resolveModelPolicy({ rowsMax: 8, queueRequestsMax: 10, queueBytesMax: 100, runMsMax: 1000 });
const model = new ModelEntry('mlp', policy);

function entryOf(request: number, deadlineAt: number): RequestEntry {
  return new RequestEntry(
    {
      request,
      model: 'mlp',
      rows: 1,
      bytes: 1,
      group: 'a',
      deadlineAt,
      caller: '',
      priority: 0,
      queueTimeoutMs: Infinity,
    },
    model,
    request,
  );
}

test('the soonest deadline is first, whoever leaves in between; equal ones expire in order of arrival', () => {
  const step = fc.record({ deadlineAt: fc.nat(20), leaver: fc.option(fc.nat(), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const heap = new DeadlineHeap();
      const present: RequestEntry[] = [];
      for (const [index, { deadlineAt, leaver }] of steps.entries()) {
        const entry = entryOf(index, deadlineAt);
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
  const entry = entryOf(1, 50);
  heap.add(entry);
  expect(heap.takeExpired(49)).toBeUndefined();
  expect(heap.takeExpired(50)).toBe(entry);
});

test('requests without a deadline take no place, and leaving twice does no harm', () => {
  const heap = new DeadlineHeap();
  const endless = entryOf(1, Number.POSITIVE_INFINITY);
  heap.add(endless);
  expect(heap.count).toBe(0);
  heap.remove(endless);
  expect(heap.soonestAt).toBe(Number.POSITIVE_INFINITY);
});
