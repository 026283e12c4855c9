/**
 * One router, its workers and its callers in a virtual world that a seed determines. The scheduler, the keeper of what
 * is in memory and the registry of names are the real ones; all that they are told comes from a weather of crashes,
 * hangs, floods, cancels, reloads, evictions and moved labels. Every decision is judged when it is made, by referees that
 * share no code with whoever made it; at the end nothing may be left.
 */
import { Keeper, type KeeperConfig, Scheduler, type SchedulerOptions } from '@millrace/core';
import { ServedModels, TrafficCatalogue, type TrafficCatalogueParts } from '@millrace/router/catalogue';
import { CallReferee } from './call-referee.ts';
import { Front, type FrontParts } from './front.ts';
import { Library } from './library.ts';
import { LibraryReferee } from './library-referee.ts';
import { Operator } from './operator.ts';
import { SimulationRandom } from './random.ts';
import { Referee } from './referee.ts';
import { Router, type SimulatedScheduler } from './router.ts';
import { SimulatedLoader, type WaiterAnswer } from './simulated-loader.ts';
import type { SimulatedWorker } from './simulated-worker.ts';
import { Timeline } from './timeline.ts';
import { Traffic } from './traffic.ts';
import { Truth } from './truth.ts';
import { type WorldLimits, weatherFrom } from './weather.ts';

/** A world that has not ended after this many steps never will. */
const stepsMax = 50_000;
const calmAt = 1500;
/** Far from any seed that somebody asks for. */
const rareSeedOffset = 1_000_000_007;

export interface SimulationResult {
  readonly seed: number;
  readonly eventCount: number;
  /** How often each kind of event and action was seen; failures and refusals by code. */
  readonly seen: ReadonlyMap<string, number>;
  /** Why the seed failed; undefined when it did not. */
  readonly failure: string | undefined;
  /** Present when asked for: a scenario file up to the failure. */
  readonly trace: readonly string[] | undefined;
}

/** The part of a keeper that the simulation needs, so that one with a planted bug can replace it. */
export type SimulatedKeeper = Pick<Keeper, 'handle' | 'takeActions' | 'isKnown' | 'isPinned'>;
type ContextUse = ConstructorParameters<typeof Keeper>[0];

/** The parts that decide; each may be replaced by one with a planted bug. */
export interface Deciders {
  readonly createScheduler: (options: SchedulerOptions) => SimulatedScheduler;
  readonly createKeeper: (use: ContextUse, config: Partial<KeeperConfig>) => SimulatedKeeper;
  readonly createModels: () => ServedModels;
  readonly createCatalogue: (parts: TrafficCatalogueParts) => FrontParts['catalogue'];
}

const ours: Deciders = {
  createScheduler: (options) => new Scheduler(options),
  createKeeper: (use, config) => new Keeper(use, config),
  createModels: () => new ServedModels(),
  createCatalogue: (parts) => new TrafficCatalogue(parts),
};

export interface SimulationOptions extends Partial<Deciders> {
  readonly isTraced?: boolean;
}

export function simulate(seed: number, options: SimulationOptions = {}): SimulationResult {
  const deciders: Deciders = { ...ours, ...options };
  const random = new SimulationRandom(seed);
  const weather = weatherFrom(random, new SimulationRandom(seed + rareSeedOffset));
  const { limits, budgetBytes, keeper: keeperConfig } = weather;
  const world = { timeline: new Timeline(), random, weather, truth: new Truth(), calmAt };
  const trace = options.isTraced ? [optionsLine(limits)] : undefined;
  const scheduler = deciders.createScheduler(limits);
  const models = deciders.createModels();
  const referee = new Referee(limits, (nowMs) => scheduler.instances(nowMs));
  const libraryLimits = { ...keeperConfig, budgetBytes, hasPins: weather.pinned > 0 };
  const libraryReferee = new LibraryReferee(libraryLimits, (model) => referee.isIdle(model));
  const callReferee = new CallReferee(libraryReferee, world.truth);
  const processes = new Map<number, SimulatedWorker>();
  const router = new Router(
    world,
    scheduler,
    referee,
    (worker) => processes.get(worker),
    (request, code) => front.ended(request, code),
    trace,
  );
  const use: ContextUse = {
    usedAt: (id) => loader.usedAt(id),
    isInUse: (id) => loader.keysOf(id).some((key) => !scheduler.isIdle(key)),
  };
  const loaderParts = {
    world,
    router,
    models,
    keeper: deciders.createKeeper(use, keeperConfig),
    referee: libraryReferee,
    processes,
    onWaiter: (action: WaiterAnswer) => front.answerWaiter(action),
  };
  const loader: SimulatedLoader = new SimulatedLoader(loaderParts);
  const library = new Library(loaderParts, loader);
  const operator = new Operator(world, models, callReferee, (sight) => router.count(sight));
  const catalogue = deciders.createCatalogue({ catalogue: models, traffic: operator });
  const front: Front = new Front({ world, router, library, models, catalogue, referee: callReferee });

  let failure: string | undefined;
  // Refusals are errors, and nobody asks where they come from.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    new Traffic({ world, router, library, front, operator });
    let steps = 0;
    while (world.timeline.step()) {
      steps += 1;
      if (steps > stepsMax) throw new Error(`the world is not at rest after ${stepsMax} steps`);
    }
    callReferee.atEnd();
    libraryReferee.atEnd();
    referee.atEnd(scheduler.counts());
  } catch (error) {
    failure = `at ${world.timeline.nowMs} ms: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return { seed, eventCount: router.eventCount, seen: router.seen, failure, trace };
}

/** How to reproduce a failing seed. */
export function describeFailure(result: SimulationResult): string {
  const command = `npx tsc -b && node tests/dist/simulation/main.js --from ${result.seed} --seeds 1`;
  return `seed ${result.seed} failed ${result.failure}\nsee it with its trace: ${command}`;
}

/** The limits as the first line of a scenario file. */
function optionsLine(limits: WorldLimits): string {
  const { waitingRequestsMax, waitingBytesMax, callerRequestsMax, lookAheadMax, retry, breaker } = limits;
  const waiting = `waiting-requests-max=${waitingRequestsMax} waiting-bytes-max=${waitingBytesMax} caller-requests-max=${callerRequestsMax}`;
  const retries = `retry.deaths-max=${retry.deathsMax} retry.requeues-max=${retry.requeuesMax}`;
  const opening = `breaker.consecutive-max=${breaker.consecutiveMax} breaker.open-ms=${breaker.openMs} breaker.open-ms-max=${breaker.openMsMax}`;
  return `options ${waiting} look-ahead-max=${lookAheadMax} ${retries} ${opening}`;
}
