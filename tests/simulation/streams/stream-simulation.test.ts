import { expect, test, vi } from 'vitest';
import { streamBugs } from './stream-bugs.ts';
import { simulateStream } from './stream-world.ts';

const seedCount = 100;
const bugSeedsMax = 1_000;
// A busy machine runs few seeds a second.
vi.setConfig({ testTimeout: 600_000 });

/** A simulation in which one of them never occurs proves nothing about it. */
const sights = [
  'acknowledged',
  'append checkpoint while scarce',
  'append ending while scarce',
  'append-refused',
  'attached',
  'cancel-step',
  'client: done',
  'close-link draining',
  'close-link journal-unavailable',
  'close-link stream-superseded',
  'detached',
  'draining',
  'ended cancelled cancelled',
  'ended done',
  'ended expired stream-expired',
  'ended failed journal-full',
  'ended failed poison-request',
  'ended failed worker-lost',
  'finished',
  'grant',
  'input dropped',
  'journal',
  'parked',
  'release',
  'run',
  'send accepted',
  'send draining',
  'send ended',
  'step-failed',
  'tick',
  'trim',
];

/** Show what the first ones do not. */
const tellingSeeds = [120, 131, 140];

test(`${seedCount} streams end as the undisturbed run would, and cover every kind of event and action`, () => {
  const seen = new Set<string>();
  for (const seed of [...Array(seedCount).keys(), ...tellingSeeds]) {
    const { failure, seen: names } = simulateStream(seed);
    if (failure !== undefined) expect.fail(`seed ${seed}: ${failure}`);
    for (const name of names.keys()) seen.add(name);
  }
  expect(sights.filter((name) => !seen.has(name))).toEqual([]);
});

test('the same seed twice gives the same trace', () => {
  for (const seed of [3, 17, 42]) {
    const first = simulateStream(seed, {}, true);
    expect(first.trace.length).toBeGreaterThan(10);
    expect(simulateStream(seed, {}, true)).toEqual(first);
  }
});

test.each([...streamBugs])('a stream that %s is found out', (_, bug) => {
  for (let seed = 0; seed < bugSeedsMax; seed++) {
    if (simulateStream(seed, bug).failure === undefined) continue;
    // It is the bug that fails the seed.
    expect(simulateStream(seed).failure).toBeUndefined();
    return;
  }
  expect.fail(`not found in ${bugSeedsMax} seeds`);
});
