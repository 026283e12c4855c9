import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutByMass, thresholdByCount } from './radix-cut.ts';

const bins = new Float64Array(2048);
const values = fc.array(fc.oneof(fc.float({ noNaN: true }), fc.constantFrom(-0, 0, 1, -1, 1.5)), {
  minLength: 1,
  maxLength: 60,
});

test('the threshold of a count is what a sort would find', () => {
  fc.assert(
    fc.property(values, fc.nat(100), (list, choice) => {
      const floats = Float32Array.from(list);
      const count = (choice % list.length) + 1;
      const found = thresholdByCount(new Int32Array(floats.buffer), count, bins);
      const expected = floats.toSorted((left, right) => right - left)[count - 1] as number;
      expect(found === expected).toBe(true);
    }),
    { seed: 1, numRuns: 1000 },
  );
});

test('the cut by mass is what a sort would find', () => {
  fc.assert(
    fc.property(values, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (list, mass) => {
      const floats = Float32Array.from(list, (value) => Math.max(-30, Math.min(30, value)));
      const ids = Uint32Array.from(floats, (_, id) => id);
      const weights = Float64Array.from(floats, (value) => Math.exp(value - 30));
      const order = [...ids].sort(
        (left, right) => (floats[right] as number) - (floats[left] as number) || left - right,
      );
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const share = weights.map((weight) => weight / total);
      const kept = cutByMass(ids, weights, ids.length, mass, new Int32Array(floats.buffer), bins);
      let before = 0;
      const expected: number[] = [];
      for (const id of order) {
        // Sums in another order differ in the last bits.
        fc.pre(Math.abs(before - mass) > 1e-9);
        if (before >= mass) break;
        expected.push(id);
        before += share[id] as number;
      }
      expect([...ids.subarray(0, kept)]).toEqual(expected.sort((left, right) => left - right));
    }),
    { seed: 1, numRuns: 1000 },
  );
});
