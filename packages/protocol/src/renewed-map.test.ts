import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RenewedMap } from './renewed-map.ts';

const steps = fc.array(fc.record({ isRemoval: fc.boolean(), key: fc.nat(30).map(String) }), { maxLength: 300 });

test('answers like a map, also after its entries have moved', () => {
  fc.assert(
    fc.property(steps, (list) => {
      const map = new RenewedMap<string, number>();
      const known = new Map<string, number>();
      list.forEach(({ isRemoval, key }, value) => {
        if (isRemoval) expect(map.delete(key)).toBe(known.delete(key));
        else {
          map.set(key, value);
          known.set(key, value);
        }
        expect(map.get(key)).toBe(known.get(key));
        expect(map.size).toBe(known.size);
      });
      for (const [key, value] of known) expect(map.get(key)).toBe(value);
    }),
    { seed: 12, numRuns: 300 },
  );
});
