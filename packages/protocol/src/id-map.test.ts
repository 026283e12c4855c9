import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdMap } from './id-map.ts';

type Step = { readonly kind: 'set' | 'delete' | 'get'; readonly id: number } | { readonly kind: 'clear' };

/** Few ids, so that they meet, and some whose low bits are the same, or that do not fit 32 bits. */
const ids = fc.oneof(
  fc.nat(40),
  fc.nat(200).map((id) => id * 4096 + 1),
  fc.nat(20).map((id) => 2 ** 40 + id),
);
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 40, arbitrary: fc.record({ kind: fc.constantFrom('set', 'delete', 'get'), id: ids }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'clear' } as const) },
);

test('answers like a map, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 400 }), (list) => {
      const map = new IdMap<number>();
      const known = new Map<number, number>();
      list.forEach((step, value) => {
        if (step.kind === 'clear') {
          map.clear();
          known.clear();
        } else if (step.kind === 'set') {
          map.set(step.id, value);
          known.set(step.id, value);
        } else if (step.kind === 'delete') {
          expect(map.delete(step.id)).toBe(known.delete(step.id));
        }
        if (step.kind !== 'clear') {
          expect(map.get(step.id)).toBe(known.get(step.id));
          expect(map.has(step.id)).toBe(known.has(step.id));
        }
        expect(map.size).toBe(known.size);
      });
      expect(map.entries()).toEqual([...known].sort(([a], [b]) => a - b));
    }),
    { seed: 11, numRuns: 500 },
  );
});

test('entries come by id, and may be removed while they are gone through', () => {
  const map = new IdMap<string>();
  for (const id of [9, 1, 5]) map.set(id, `value ${id}`);
  for (const [id] of map.entries()) map.delete(id);
  expect(map.size).toBe(0);
  expect(map.values()).toEqual([]);
});
