import { expect, test } from 'vitest';
import { simulateKeeper } from './keeper-world.ts';

const seedCount = 400;

/** What the keeper can say, and what becomes of requests: a simulation that never gets there proves nothing about it. */
const sights = [
  'demand cancelled',
  'failed',
  'forget',
  'go-on',
  'load',
  'refuse deadline-exceeded',
  'refuse model-full',
  'refuse model-not-ready',
  'request answered',
  'retire',
  'serve',
  'set-aside',
  'unload',
  'wake-at',
];

test(`the promises of the keeper hold in ${seedCount} worlds, and every one of its words is heard`, () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < seedCount; seed++) {
    const outcome = simulateKeeper(seed);
    if (outcome.failure !== undefined) throw new Error(`${outcome.trace.slice(-60).join('\n')}\n${outcome.failure}`);
    for (const what of outcome.seen.keys()) seen.add(what);
  }
  expect(sights.filter((what) => !seen.has(what))).toEqual([]);
});

test('the same seed is the same world', () => {
  expect(simulateKeeper(7).trace).toEqual(simulateKeeper(7).trace);
});
