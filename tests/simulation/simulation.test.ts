import { runScenario } from '@millrace/core/testing';
import { expect, test, vi } from 'vitest';
import { isLong } from '../long-tests.ts';
import { knownWorlds, tellingWorlds } from './bugs/known-worlds.ts';
import { libraryBugs } from './bugs/library-bugs.ts';
import { schedulerBugs } from './bugs/scheduler-bugs.ts';
import { shellBugs } from './bugs/shell-bugs.ts';
import { streamHostBugs } from './bugs/stream-host-bugs.ts';
import type { Deciders } from './shell.ts';
import { describeFailure, simulate } from './simulation.ts';
import { weatherOf } from './world/simulated-world.ts';
import type { Weather } from './world/weather.ts';

const seedsMax = 300;
/** Fewer only where they show every kind of event and action. */
const seedsMin = isLong ? seedsMax : 25;
// A busy machine runs few seeds a second.
vi.setConfig({ testTimeout: 600_000 });

/** All kinds of events and actions; a simulation in which one never occurs proves nothing about it. */
const sights = [
  'batch-answered',
  'batch-credit',
  'batch-progressed',
  'breaker-closed',
  'breaker: half-open',
  'breaker: open',
  'caller: draining',
  'caller: invalid-request',
  'caller: model-not-ready',
  'caller: unknown-model',
  'call-answered',
  'call-failed',
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
  'labels changed',
  'model-idle',
  'model-removed',
  'model-retired',
  'refuse: caller-full',
  'refuse: cancelled',
  'refuse: deadline-exceeded',
  'refuse: inference-failed',
  'refuse: model-full',
  'refuse: model-not-ready',
  'refuse: poison-request',
  'refuse: queue-timeout',
  'refuse: request-too-large',
  'refuse: run-time-limit',
  'refuse: server-full',
  'refuse: wait-too-long',
  'refuse: worker-lost',
  'shadow: different',
  'shadow: failed',
  'shadows changed',
  'split changed',
  'stranger: stream-conflict',
  'stranger: stream-not-found',
  'stream client: done',
  'stream client: failed',
  'stream client: left',
  'streams: ended expired stream-expired, abandoned',
  'streams: closed draining',
  'streams: closed journal-unavailable',
  'streams: closed output-expired',
  'streams: commit of unknown outcome',
  'streams: ended cancelled cancelled',
  'streams: ended done',
  'streams: ended expired stream-expired',
  'streams: ended failed inference-failed',
  'streams: ended failed journal-full',
  'streams: ended failed model-changed',
  'streams: ended failed model-unloaded',
  'streams: ended failed poison-request',
  'streams: ended failed worker-lost',
  'streams: inputs late',
  'streams: process dies',
  'streams: process drains',
  'streams: process hangs',
  'streams: refused too-many-streams',
  'streams: resumed reconnect',
  'streams: resumed router-restart',
  'streams: resumed take-over',
  'streams: step postponed',
  'streams: step repeated',
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

function seedsBut(others: readonly number[], seedCount: number): readonly number[] {
  return Array.from({ length: seedCount }, (_, seed) => seed).filter((seed) => !others.includes(seed));
}

test('worlds end with every request answered once, and cover every kind of event and action', async () => {
  const missing = new Set(sights);
  const seeds = [...tellingWorlds, ...seedsBut(tellingWorlds, seedsMax)];
  for (const [index, seed] of seeds.entries()) {
    if (index >= seedsMin && missing.size === 0) break;
    const result = await simulate(seed);
    if (result.failure !== undefined) expect.fail(describeFailure(result));
    for (const name of result.seen.keys()) missing.delete(name);
  }
  expect([...missing]).toEqual([]);
});

test('a seed decides everything: the same seed twice gives the same trace', async () => {
  for (const seed of [3, 89, 107, 216]) {
    expect(await simulate(seed, { isTraced: true })).toEqual(await simulate(seed, { isTraced: true }));
  }
});

test('a trace is a scenario file: replaying its events gives the same actions', async () => {
  for (let seed = 0; seed < (isLong ? 20 : 6); seed++) {
    const lines = (await simulate(seed, { isTraced: true })).trace ?? [];
    // What follows the last actions had none.
    const story = lines.slice(0, lines.lastIndexOf('') + 1);
    expect(story.length).toBeGreaterThan(20);
    expect(runScenario(story.join('\n')).trimEnd()).toBe(story.join('\n').trimEnd());
  }
});

const plantedBugs = new Map<string, Partial<Deciders>>([
  ...[...schedulerBugs].map(([name, createScheduler]) => [`a scheduler that ${name}`, { createScheduler }] as const),
  ...libraryBugs,
  ...shellBugs,
  ...streamHostBugs,
]);

/** Some bugs show only in worlds that are rare; the others need not be simulated to look for them. */
const bugSeedsMax = 500;
const isLikely: Readonly<Record<string, (weather: Weather) => boolean>> = {
  'a scheduler that takes weights the wrong way round': ({ stampede }) => stampede > 0,
  'a scheduler that gives a worker work that it is too good for': ({ reservedInstance }) => reservedInstance > 0,
  'a scheduler that takes a kill from outside for a crash': ({ crashInRun }) => crashInRun > 0.05,
  'a keeper that does not know which models streams wait for': ({ streamedModels, modelCount }) =>
    streamedModels > 0 && modelCount > 1,
  'a keeper that knows no pins': ({ pinned, budgetBytes }) => pinned > 0 && budgetBytes !== Number.POSITIVE_INFINITY,
  'an ensemble whose steps lose the deadline of the caller': ({ ensembleModel }) => ensembleModel > 0,
  'a cache that outlives the revision of its model': ({ cachedModel }) => cachedModel > 0,
};

test.each([...plantedBugs])('%s is found out, and the report says how to see it again', async (name, deciders) => {
  const known = knownWorlds[name] ?? 0;
  for (const seed of [known, ...seedsBut([known], bugSeedsMax)]) {
    if (seed !== known && isLikely[name]?.(weatherOf(seed)) === false) continue;
    if (streamHostBugs.has(name) && weatherOf(seed).streams === undefined) continue;
    const result = await simulate(seed, deciders);
    if (result.failure === undefined) continue;
    // It is the bug that fails the seed, not the seed that fails any scheduler.
    expect((await simulate(seed)).failure).toBeUndefined();
    expect(describeFailure(result)).toContain(`main.js --from ${seed} --seeds 1`);
    return;
  }
  expect.fail(`not found in ${bugSeedsMax} seeds`);
});
