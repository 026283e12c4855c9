import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resolveModelPolicy } from '../model-policy.ts';
import { takeBatch } from './batch-formation.ts';
import { ModelEntry } from './model-entry.ts';
import { RequestEntry } from './request-entry.ts';

const policy = resolveModelPolicy({ rowsMax: 8, queueRequestsMax: 1000, queueBytesMax: 1000, runMsMax: 1000 });
const requests = fc.array(
  fc.record({ rows: fc.integer({ min: 1, max: 8 }), group: fc.constantFrom('a', 'b', 'c'), isAlone: fc.boolean() }),
  { minLength: 1, maxLength: 40 },
);

test('taken batch by batch, a queue empties in order within each group and no batch is over its rows', () => {
  fc.assert(
    fc.property(requests, fc.integer({ min: 1, max: 50 }), (list, lookAheadMax) => {
      const { queue } = new ModelEntry('mlp', policy);
      const model = new ModelEntry('mlp', policy);
      for (const [index, { rows, group, isAlone }] of list.entries()) {
        const arrived = {
          request: index,
          model: 'mlp',
          rows,
          bytes: 1,
          group,
          deadlineAt: Infinity,
          caller: '',
          priority: 0,
          queueTimeoutMs: Infinity,
        };
        const entry = new RequestEntry(arrived, model, index);
        entry.isAlone = isAlone;
        queue.append(entry);
      }
      const lastOf = new Map<string, number>();
      let count = 0;
      while (queue.oldest !== undefined) {
        const head = queue.oldest;
        const batch = takeBatch(queue, 8, lookAheadMax);
        expect(batch[0]).toBe(head);
        expect(batch.reduce((rows, entry) => rows + entry.rows, 0)).toBeLessThanOrEqual(8);
        if (batch.length > 1) expect(batch.some((entry) => entry.isAlone)).toBe(false);
        for (const entry of batch) {
          expect(entry.group).toBe(head.group);
          if (!entry.isAlone) {
            expect(entry.arrival).toBeGreaterThan(lastOf.get(entry.group) ?? -1);
            lastOf.set(entry.group, entry.arrival);
          }
        }
        count += batch.length;
      }
      expect(count).toBe(list.length);
    }),
    { seed: 1, numRuns: 200 },
  );
});
