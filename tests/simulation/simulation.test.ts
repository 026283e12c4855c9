import { runScenario } from '@millrace/core/testing';
import { expect, test } from 'vitest';
import { libraryBugs } from './library-bugs.ts';
import { schedulerBugs } from './scheduler-bugs.ts';
import { type Deciders, describeFailure, simulate } from './simulation.ts';

const seedCount = 1000;

/** All kinds of events and actions; a simulation in which one never occurs proves nothing about it. */
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
  'keeper: failed',
  'keeper: forget',
  'keeper: go-on',
  'keeper: load',
  'keeper: refuse deadline-exceeded',
  'keeper: refuse model-full',
  'keeper: refuse model-not-ready',
  'keeper: retire',
  'keeper: serve',
  'keeper: set-aside',
  'keeper: unload',
  'keeper: version-removed',
  'keeper: version-state',
  'keeper: wake-at',
  'kill-worker',
  'label moved',
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
  'registry: model-not-ready',
  'registry: unknown-model',
  'split changed',
  'tick',
  'to keeper: demand-cancelled',
  'to keeper: kept',
  'to keeper: measured',
  'to keeper: pinned',
  'to keeper: servable',
  'to keeper: settled',
  'to keeper: unservable',
  'to keeper: unwanted',
  'wake-at',
  'worker-credit',
  'worker-gone',
  'worker-unserves',
];

test(`${seedCount} worlds end with every request answered once, and cover every kind of event and action`, () => {
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

test('a trace is a scenario file: replaying its events gives the same actions', () => {
  for (let seed = 0; seed < 50; seed++) {
    const lines = simulate(seed, { isTraced: true }).trace ?? [];
    // What follows the last actions had none.
    const story = lines.slice(0, lines.lastIndexOf('') + 1);
    expect(story.length).toBeGreaterThan(20);
    expect(runScenario(story.join('\n')).trimEnd()).toBe(story.join('\n').trimEnd());
  }
});

const plantedBugs = new Map<string, Partial<Deciders>>([
  ...[...schedulerBugs].map(([name, createScheduler]) => [`a scheduler that ${name}`, { createScheduler }] as const),
  ...libraryBugs,
]);

test.each([...plantedBugs])('%s is found out, and the report says how to see it again', (_, deciders) => {
  for (let seed = 0; seed < seedCount; seed++) {
    const result = simulate(seed, deciders);
    if (result.failure === undefined) continue;
    // It is the bug that fails the seed, not the seed that fails any scheduler.
    expect(simulate(seed).failure).toBeUndefined();
    expect(describeFailure(result)).toContain(`main.js --from ${seed} --seeds 1`);
    return;
  }
  expect.fail(`not found in ${seedCount} seeds`);
});
