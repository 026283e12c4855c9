import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VersionShares } from './version-shares.ts';

const all = (): boolean => true;

/** A generator of numbers from 0 to below 1 that is the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('every number from 0 to below 1 falls to the version whose share it lies in', () => {
  const shares = VersionShares.from(
    [
      { version: '1', weight: 90 },
      { version: '2', weight: 9 },
      { version: '3', weight: 1 },
    ],
    all,
  );
  expect([0, 0.8999, 0.9, 0.9899, 0.99, 1 - Number.EPSILON].map((random) => shares.draw(random))).toEqual([
    '1',
    '1',
    '2',
    '2',
    '3',
    '3',
  ]);
});

test('the share of an unavailable version goes to the others in proportion', () => {
  const split = [
    { version: '1', weight: 60 },
    { version: '2', weight: 30 },
    { version: '3', weight: 10 },
  ];
  const shares = VersionShares.from(split, (version) => version !== '2');
  const random = randomFrom(7);
  let ofThird = 0;
  for (let draw = 0; draw < 70_000; draw++) if (shares.draw(random()) === '3') ofThird += 1;
  expect(ofThird / 70_000).toBeCloseTo(1 / 7, 2);
  expect(VersionShares.from(split, () => false).draw(0.5)).toBeUndefined();
  expect(VersionShares.from([], all).draw(0)).toBeUndefined();
});

test('the largest share is told, the first of equal ones', () => {
  const shares = VersionShares.from(
    [
      { version: '3', weight: 1 },
      { version: '1', weight: 4 },
      { version: '2', weight: 4 },
    ],
    all,
  );
  expect(shares.largest).toBe('1');
  expect(VersionShares.from([], all).largest).toBeUndefined();
});

test('over many draws every version has its weight, within four standard deviations', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(weights, fc.integer(), (chosen, seed) => {
      const split = chosen.map((weight, index) => ({ version: `${index}`, weight }));
      const shares = VersionShares.from(split, all);
      const random = randomFrom(seed);
      const draws = 4000;
      const counts = new Map<string, number>();
      for (let draw = 0; draw < draws; draw++) {
        const version = shares.draw(random()) as string;
        counts.set(version, (counts.get(version) ?? 0) + 1);
      }
      const sum = chosen.reduce((total, weight) => total + weight, 0);
      for (const { version, weight } of split) {
        const share = weight / sum;
        const deviation = Math.sqrt(draws * share * (1 - share));
        expect(Math.abs((counts.get(version) ?? 0) - draws * share)).toBeLessThanOrEqual(4 * deviation + 1);
      }
    }),
    { seed: 20_261, numRuns: 60 },
  );
});
