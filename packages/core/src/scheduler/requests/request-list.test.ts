import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryOf, modelWith } from '../testing/entries.ts';
import type { RequestEntry } from './request-entry.ts';
import { RequestList } from './request-list.ts';

const model = modelWith();

function arrivalsIn(list: RequestList): number[] {
  const forwards: RequestEntry[] = [];
  for (let entry = list.oldest; entry !== undefined; entry = entry.younger) forwards.push(entry);
  const backwards: RequestEntry[] = [];
  for (let entry = forwards.at(-1); entry !== undefined; entry = entry.older) backwards.push(entry);
  expect(backwards.reverse()).toEqual(forwards);
  return forwards.map((entry) => entry.arrival);
}

test('after any arrivals, removals and returns the list is in order of arrival', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const) }),
    fc.record({ kind: fc.constant('take' as const), share: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }) }),
    fc.record({ kind: fc.constant('put-back' as const), index: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = new RequestList();
      const waiting = new Set<RequestEntry>();
      const taken: RequestEntry[] = [];
      let arrival = 0;
      for (const { kind, ...rest } of steps) {
        if (kind === 'add') {
          arrival += 1;
          const entry = entryOf(model, arrival);
          list.add(entry);
          waiting.add(entry);
        } else if ('share' in rest) {
          for (const entry of [...waiting].filter((_, index) => rest.share[index % rest.share.length])) {
            list.remove(entry);
            waiting.delete(entry);
            taken.push(entry);
          }
        } else if ('index' in rest && taken.length > 0) {
          const [entry] = taken.splice(rest.index % taken.length, 1);
          if (entry === undefined) continue;
          list.add(entry);
          waiting.add(entry);
        }
        const expected = [...waiting].map((entry) => entry.arrival).sort((left, right) => left - right);
        expect(arrivalsIn(list)).toEqual(expected);
      }
    }),
    { seed: 1, numRuns: 200 },
  );
});

test('a request cannot be queued twice, nor leave twice', () => {
  const list = new RequestList();
  const entry = entryOf(model, 1);
  list.add(entry);
  expect(() => list.add(entry)).toThrow('invariant broken');
  list.remove(entry);
  expect(() => list.remove(entry)).toThrow('invariant broken');
});
