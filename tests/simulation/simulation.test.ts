import { runScenario } from '@millrace/core/scenarios';
import { expect, test } from 'vitest';
import { plantedBugs } from './planted-bugs.ts';
import { describeFailure, simulate } from './simulation.ts';

const seedCount = 1000;

/** What the scheduler can be told and can say; a simulation that never gets there proves nothing about it. */
const sights = [
  'batch-answered',
  'breaker-closed',
  'breaker: half-open',
  'breaker: open',
  'cancel-batch',
  'deliver',
  'dispatch',
  'drained',
  'failed: cancelled',
  'failed: inference-failed',
  'failed: unknown-model',
  'kill-worker',
  'model-idle',
  'model-removed',
  'model-retired',
  'refuse: caller-full',
  'refuse: cancelled',
  'refuse: deadline-exceeded',
  'refuse: draining',
  'refuse: inference-failed',
  'refuse: model-full',
  'refuse: model-not-ready',
  'refuse: poison-request',
  'refuse: queue-timeout',
  'refuse: request-too-large',
  'refuse: run-time-limit',
  'refuse: server-full',
  'refuse: unknown-model',
  'refuse: wait-too-long',
  'refuse: worker-lost',
  'tick',
  'wake-at',
  'worker-credit',
  'worker-gone',
  'worker-unserves',
];

test(`${seedCount} worlds come to rest with every request answered once, and show everything that can happen`, () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < seedCount; seed++) {
    const result = simulate(seed);
    if (result.failure !== undefined) expect.fail(describeFailure(result));
    for (const name of result.seen.keys()) seen.add(name);
  }
  expect(sights.filter((name) => !seen.has(name))).toEqual([]);
});

test('a seed decides everything: the same seed twice gives the same trace', () => {
  for (const seed of [3, 89, 916]) {
    expect(simulate(seed, { isTraced: true })).toEqual(simulate(seed, { isTraced: true }));
  }
});

test('a trace is a scenario file: its events alone lead to the same actions again', () => {
  for (let seed = 0; seed < 50; seed++) {
    const lines = simulate(seed, { isTraced: true }).trace ?? [];
    // What follows the last actions had none.
    const story = lines.slice(0, lines.lastIndexOf('') + 1);
    expect(story.length).toBeGreaterThan(20);
    expect(runScenario(story.join('\n')).trimEnd()).toBe(story.join('\n').trimEnd());
  }
});

test.each([...plantedBugs.keys()])(
  'a scheduler that %s is found out, and the report says how to see it again',
  (name) => {
    const createScheduler = plantedBugs.get(name);
    if (createScheduler === undefined) throw new Error(`no planted bug is called ${name}`);
    for (let seed = 0; seed < seedCount; seed++) {
      const result = simulate(seed, { createScheduler });
      if (result.failure === undefined) continue;
      // It is the bug that fails the seed, not the seed that fails any scheduler.
      expect(simulate(seed).failure).toBeUndefined();
      expect(describeFailure(result)).toContain(`main.js --from ${seed} --seeds 1`);
      return;
    }
    expect.fail(`not found in ${seedCount} seeds`);
  },
);
