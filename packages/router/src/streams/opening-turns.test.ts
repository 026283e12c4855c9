import { expect, test } from 'vitest';
import { HeldClock } from '../data-plane/testing/held-clock.ts';
import { OpeningTurns, openingsPerTurnMax } from './opening-turns.ts';

test('streams of a caller that come together are opened in several turns, in order, and a lone one at once', async () => {
  const clock = new HeldClock();
  const turns = new OpeningTurns(clock);
  expect(turns.wait('a')).toBeUndefined();
  clock.endTurn();
  const opened: number[] = [];
  const openings = Array.from({ length: 2 * openingsPerTurnMax + 3 }, async (_, index) => {
    await turns.wait('a');
    opened.push(index);
  });
  await Promise.resolve();
  expect(opened).toHaveLength(openingsPerTurnMax);
  clock.endOneTurn();
  // Who comes in the turn of those that waited does not overtake them.
  const late = turns.wait('a');
  expect(late).toBeDefined();
  await Promise.resolve();
  expect(opened).toHaveLength(2 * openingsPerTurnMax);
  clock.endOneTurn();
  await Promise.all([...openings, late]);
  expect(opened).toEqual(opened.map((_, index) => index));
  clock.endTurn();
  expect(turns.wait('a')).toBeUndefined();
});

test('another caller does not wait for them', () => {
  const clock = new HeldClock();
  const turns = new OpeningTurns(clock);
  const openings = Array.from({ length: 3 * openingsPerTurnMax }, () => turns.wait('a'));
  expect(openings.filter((wait) => wait === undefined)).toHaveLength(openingsPerTurnMax);
  expect(turns.wait('b')).toBeUndefined();
  clock.endOneTurn();
  expect(turns.wait('a')).toBeDefined();
  expect(turns.wait('b')).toBeUndefined();
});
