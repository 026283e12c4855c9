/**
 * One router, its workers and its callers in a virtual world that one number decides. Every decision of the scheduler is
 * judged when it is made; at the end nothing may be left.
 */
import { Scheduler, type SchedulerOptions } from '@millrace/core';
import { Random } from './random.ts';
import { Referee } from './referee.ts';
import { Router, type SimulatedScheduler } from './router.ts';
import { Supervisor } from './supervisor.ts';
import { Timeline } from './timeline.ts';
import { Traffic } from './traffic.ts';
import { Truth } from './truth.ts';
import { type WorldLimits, weatherFrom } from './weather.ts';

/** A world that is not at rest by then never will be. */
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

export interface SimulationOptions {
  readonly createScheduler?: (options: SchedulerOptions) => SimulatedScheduler;
  readonly isTraced?: boolean;
}

export function simulate(seed: number, options: SimulationOptions = {}): SimulationResult {
  const random = new Random(seed);
  const weather = weatherFrom(random, new Random(seed + rareSeedOffset));
  const world = { timeline: new Timeline(), random, weather, truth: new Truth(), calmAt };
  const trace = options.isTraced ? [optionsLine(weather.limits)] : undefined;
  const create = options.createScheduler ?? ((schedulerOptions) => new Scheduler(schedulerOptions));
  const scheduler = create(weather.limits);
  const referee = new Referee(weather.limits, (nowMs) => scheduler.instances(nowMs));
  const supervisor: Supervisor = new Supervisor(world, (event) => router.tell(event));
  const router = new Router(world, scheduler, referee, (worker) => supervisor.takeProcess(worker), trace);

  let failure: string | undefined;
  try {
    new Traffic(world, router, supervisor);
    let steps = 0;
    while (world.timeline.step()) {
      steps += 1;
      if (steps > stepsMax) throw new Error(`the world is not at rest after ${stepsMax} steps`);
    }
    referee.atEnd(scheduler.counts());
  } catch (error) {
    failure = `at ${world.timeline.nowMs} ms: ${error instanceof Error ? error.message : String(error)}`;
  }
  return { seed, eventCount: router.eventCount, seen: router.seen, failure, trace };
}

/** What a person needs to see a failing seed again. */
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
