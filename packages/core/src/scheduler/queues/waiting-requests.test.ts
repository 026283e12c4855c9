import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openQueue, resolveModelPolicy } from '../../model-policy.ts';
import type { RequestEntry } from '../requests/request-entry.ts';
import { entryOf, modelWith } from '../testing/entries.ts';

const bounds = { rowsMax: 8, queueRequestsMax: 1000, queueBytesMax: 1000, runMsMax: 1000 };
const levels = (count: number) => Array.from({ length: count }, () => openQueue);

test('after any arrivals, removals, delays and returns the counts are right and no request is lost', () => {
  const request = fc.record({
    caller: fc.constantFrom('', 'ann', 'bob'),
    priority: fc.nat(4),
    rows: fc.integer({ min: 1, max: 8 }),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), request }),
    fc.record({ kind: fc.constantFrom('take' as const, 'delay' as const, 'put-back' as const), index: fc.nat() }),
    fc.record({ kind: fc.constant('levels' as const), index: fc.integer({ min: 1, max: 3 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = modelWith({ queues: levels(2) });
      const { queue } = model;
      const waiting: RequestEntry[] = [];
      const taken: RequestEntry[] = [];
      for (const [index, change] of steps.entries()) {
        if (change.kind === 'add') {
          const entry = entryOf(model, index, change.request);
          queue.add(entry, false);
          waiting.push(entry);
        } else if (change.kind === 'levels') {
          model.setPolicy(resolveModelPolicy({ ...bounds, queues: levels(change.index) }));
        } else if (change.kind === 'put-back') {
          const [entry] = taken.splice(change.index % taken.length, 1);
          if (entry !== undefined) queue.putBack([entry]);
          if (entry !== undefined) waiting.push(entry);
        } else {
          const at = change.index % waiting.length;
          const entry = waiting[at];
          if (entry === undefined) continue;
          if (change.kind === 'delay') {
            if (!entry.isDelayed) queue.delay(entry);
          } else {
            queue.remove(entry);
            waiting.splice(at, 1);
            taken.push(entry);
          }
        }
        const sum = (rows: number, entry: RequestEntry) => rows + entry.rows;
        expect([queue.requestCount, queue.byteCount]).toEqual([waiting.length, 10 * waiting.length]);
        expect(queue.rowCount).toBe(waiting.reduce(sum, 0));
        expect(new Set(queue.entries())).toEqual(new Set(waiting));
        expect(queue.levels.reduce((count, level) => count + level.requestCount, 0)).toBe(waiting.length);
        expect(queue.head === undefined).toBe(waiting.length === 0);
        for (const [level, { ring }] of queue.levels.entries()) {
          const present = waiting.filter((entry) => entry.level === level && !entry.isDelayed);
          expect(ring.callerCount).toBe(new Set(present.map((entry) => entry.caller)).size);
        }
      }
    }),
    { seed: 1, numRuns: 300 },
  );
});

test.each([
  [0, 1],
  [1, 0],
  [3, 2],
  [4, 1],
  [-1, 1],
  [2 ** 60, 1],
])('a priority of %d is at position %d of three levels with the default 2', (priority, level) => {
  const { queue } = modelWith({ queues: levels(3), priorityDefault: 2 });
  expect(queue.levelIndexOf(priority)).toBe(level);
});
