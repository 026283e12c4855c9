import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quantumFor } from '../queues/caller-ring.ts';
import { entryOf, modelWith } from '../testing/entries.ts';
import { takeBatch } from './batch-formation.ts';

const callers = fc.constantFrom('ann', 'bob', 'cleo');
const requests = fc.array(
  fc.record({
    rows: fc.integer({ min: 1, max: 8 }),
    group: fc.constantFrom('a', 'b', 'c'),
    isAlone: fc.boolean(),
    caller: callers,
  }),
  { minLength: 1, maxLength: 40 },
);

test('taken batch by batch, a queue empties in order within each caller and group, and no batch is over its rows', () => {
  fc.assert(
    fc.property(requests, fc.integer({ min: 1, max: 50 }), (list, lookAheadMax) => {
      const model = modelWith();
      const { queue } = model;
      for (const [index, { isAlone, ...fields }] of list.entries()) {
        const entry = entryOf(model, index, fields);
        entry.isAlone = isAlone;
        queue.add(entry, false);
      }
      const lastOf = new Map<string, number>();
      let count = 0;
      while (queue.requestCount > 0) {
        const oldest = new Map<string, number>();
        for (const { caller, arrival } of queue.entries()) {
          oldest.set(caller, Math.min(oldest.get(caller) ?? Infinity, arrival));
        }
        const batch = takeBatch(queue, 8, lookAheadMax);
        const [head] = batch;
        expect(head?.arrival).toBe(oldest.get(head?.caller ?? ''));
        expect(batch.reduce((rows, entry) => rows + entry.rows, 0)).toBeLessThanOrEqual(8);
        expect(batch.length).toBeLessThanOrEqual(lookAheadMax);
        if (batch.length > 1) expect(batch.some((entry) => entry.isAlone)).toBe(false);
        for (const entry of batch) {
          expect(entry.group).toBe(head?.group);
          if (!entry.isAlone) {
            const key = `${entry.caller} ${entry.group}`;
            expect(entry.arrival).toBeGreaterThan(lastOf.get(key) ?? -1);
            lastOf.set(key, entry.arrival);
          }
        }
        count += batch.length;
      }
      expect(count).toBe(list.length);
    }),
    { seed: 1, numRuns: 300 },
  );
});

describe('between callers', () => {
  test('while two of them wait, the rows they were served differ by no more than a quantum and a largest request each', () => {
    const flood = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(fc.dictionary(callers, flood, { minKeys: 2 }), fc.constantFrom(8, 64, 200), (floods, rowsMax) => {
        const model = modelWith({ rowsMax });
        let arrival = 0;
        for (const [caller, sizes] of Object.entries(floods)) {
          for (const rows of sizes) {
            arrival += 1;
            model.queue.add(entryOf(model, arrival, { caller, rows }), false);
          }
        }
        const served = new Map(Object.keys(floods).map((caller) => [caller, 0]));
        while (model.queue.levels[0]?.ring.callerCount === served.size) {
          for (const entry of takeBatch(model.queue, rowsMax, 256)) {
            served.set(entry.caller, (served.get(entry.caller) ?? 0) + entry.rows);
          }
          if (model.queue.levels[0]?.ring.callerCount !== served.size) break;
          const rows = [...served.values()];
          expect(Math.max(...rows) - Math.min(...rows)).toBeLessThanOrEqual(quantumFor(rowsMax) + 8);
        }
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  test('a single request behind a flood goes with the next batch', () => {
    const model = modelWith();
    for (let arrival = 1; arrival <= 100; arrival++)
      model.queue.add(entryOf(model, arrival, { caller: 'flood' }), false);
    model.queue.add(entryOf(model, 101, { caller: 'ann' }), false);
    expect(takeBatch(model.queue, 8, 256).map(({ arrival }) => arrival)).toContain(101);
  });

  test('a caller whose request is of another group keeps its turn and leads the next batch', () => {
    const model = modelWith();
    for (let arrival = 1; arrival <= 20; arrival++)
      model.queue.add(entryOf(model, arrival, { caller: 'flood' }), false);
    model.queue.add(entryOf(model, 21, { caller: 'ann', group: 'b' }), false);
    expect(takeBatch(model.queue, 8, 256).map(({ caller }) => caller)).toEqual(Array(8).fill('flood'));
    expect(takeBatch(model.queue, 8, 256).map(({ arrival }) => arrival)).toEqual([21]);
  });

  test('a large request is not passed over for ever by small ones of others', () => {
    const model = modelWith();
    model.queue.add(entryOf(model, 1, { caller: 'ann', rows: 8 }), false);
    for (let arrival = 2; arrival <= 200; arrival++)
      model.queue.add(entryOf(model, arrival, { caller: 'flood' }), false);
    let batches = 0;
    while (model.queue.entries().some(({ caller }) => caller === 'ann')) {
      takeBatch(model.queue, 8, 256);
      batches += 1;
    }
    expect(batches).toBeLessThanOrEqual(2);
  });

  test('callers without waiting requests are forgotten', () => {
    const model = modelWith();
    for (let arrival = 1; arrival <= 100; arrival++) {
      model.queue.add(entryOf(model, arrival, { caller: `caller-${arrival}` }), false);
    }
    expect(model.queue.levels[0]?.ring.callerCount).toBe(100);
    while (model.queue.requestCount > 0) takeBatch(model.queue, 8, 256);
    expect(model.queue.levels[0]?.ring.callerCount).toBe(0);
  });
});
