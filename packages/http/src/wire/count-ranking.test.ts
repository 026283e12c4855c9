import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CountRanking } from './count-ranking.ts';

test('the largest count comes first, and those without any are not there', () => {
  const ranking = new CountRanking<string>();
  for (const name of ['a', 'b', 'b', 'c', 'c', 'c']) ranking.increase(name);
  expect(ranking.first(9)).toEqual(['c', 'b', 'a']);
  expect(ranking.first(2)).toEqual(['c', 'b']);
  ranking.decrease('c');
  ranking.decrease('c');
  ranking.decrease('a');
  ranking.decrease('a');
  expect(ranking.first(9)).toEqual(['b', 'c']);
});

test('after any changes the order is that of the counts', () => {
  const change = fc.record({ thing: fc.integer({ min: 0, max: 7 }), isMore: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const ranking = new CountRanking<number>();
      const counts = new Map<number, number>();
      for (const { thing, isMore } of changes) {
        const count = Math.max(0, (counts.get(thing) ?? 0) + (isMore ? 1 : -1));
        counts.set(thing, count);
        if (isMore) ranking.increase(thing);
        else ranking.decrease(thing);
        const ranked = ranking.first(99).map((one) => counts.get(one) as number);
        expect(ranked).toEqual([...counts.values()].filter((one) => one > 0).sort((a, b) => b - a));
      }
    }),
    { seed: 12 },
  );
});
