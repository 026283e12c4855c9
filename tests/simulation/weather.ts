import { type BreakerPolicy, defaultBreakerPolicy, type RetryPolicy, type SchedulerConfig } from '@millrace/core';
import type { Random } from './random.ts';

/** The limits of the scheduler that differ from seed to seed. */
export interface WorldLimits
  extends Pick<SchedulerConfig, 'waitingRequestsMax' | 'waitingBytesMax' | 'callerRequestsMax' | 'lookAheadMax'> {
  readonly retry: Pick<RetryPolicy, 'deathsMax' | 'requeuesMax'>;
  readonly breaker: BreakerPolicy;
}

/**
 * What a seed's world is like. Each kind of trouble is absent from about half of the seeds, so that the others are seen
 * in all combinations and none drowns the rest.
 */
export interface Weather {
  readonly limits: WorldLimits;
  readonly modelCount: number;
  readonly workerCount: number;
  readonly requestCount: number;
  readonly burstMax: number;
  readonly gapMsMax: number;
  readonly latencyMsMax: number;
  readonly runMsMax: number;
  readonly loadMsMax: number;
  /** Probabilities, each for one request, one run, one life, one timer or one burst, as named. */
  readonly poisonRequest: number;
  readonly hangingRequest: number;
  readonly failingRequest: number;
  readonly cancelledRequest: number;
  readonly deadlineRequest: number;
  readonly oddRequest: number;
  /** A process that fails most of what it runs, whatever it is. */
  readonly sickWorker: number;
  readonly crashInRun: number;
  readonly crashAfterAnswer: number;
  readonly crashWhileIdle: number;
  readonly crashInLoad: number;
  readonly creditChange: number;
  readonly modelChange: number;
  readonly workerUnserves: number;
  /** A model on a worker that takes urgent requests only; one worker of each model takes all. */
  readonly reservedInstance: number;
  /** An operator closes a breaker, needed or not. */
  readonly breakerClosed: number;
  readonly limitedWait: number;
  readonly strayMessage: number;
  readonly earlyTimer: number;
  readonly flood: number;
  /** A drain in the midst of it all; every world is drained at the end in any case. */
  readonly earlyDrain: number;
  readonly areWorkerIdsUsedAgain: boolean;
  /** Callers that requests come from; a flood is of one of them. */
  readonly callerCount: number;
  /** Requests of a model differ in shape. */
  readonly hasGroups: boolean;
  /** Probabilities for each policy that a model is given. */
  readonly levelledModel: number;
  readonly delayingModel: number;
  readonly orderedModel: number;
  readonly timedQueue: number;
  readonly boundedLevel: number;
  /** For each change of models: that one is retired rather than removed. */
  readonly retiredModel: number;
  readonly queueTimeoutRequest: number;
}

/**
 * What only some worlds have is drawn from a stream of its own: the others stay as they were, and with them the seeds that
 * are known to find something.
 */
export function weatherFrom(random: Random, rare: Random): Weather {
  const trouble = (probabilityMax: number): number => (random.chance(0.5) ? random.next() * probabilityMax : 0);
  return {
    limits: {
      waitingRequestsMax: random.chance(0.2) ? random.integer(4, 30) : 10_000,
      callerRequestsMax: rare.chance(0.1) ? rare.integer(1, 12) : 10_000,
      waitingBytesMax: random.chance(0.2) ? random.integer(200, 2000) : 1_000_000,
      lookAheadMax: random.chance(0.3) ? random.integer(1, 6) : 256,
      retry: {
        deathsMax: random.chance(0.2) ? random.integer(1, 3) : 2,
        requeuesMax: random.chance(0.4) ? random.integer(0, 2) : 8,
      },
      breaker: {
        ...defaultBreakerPolicy,
        consecutiveMax: random.integer(1, 5),
        openMs: random.integer(5, 200),
        openMsMax: 400,
      },
    },
    modelCount: random.integer(1, 4),
    workerCount: random.integer(1, 5),
    requestCount: random.integer(20, 160),
    burstMax: random.integer(1, 10),
    gapMsMax: random.integer(1, 30),
    latencyMsMax: random.integer(0, 5),
    runMsMax: random.integer(1, 40),
    loadMsMax: random.integer(1, 300),
    poisonRequest: trouble(0.1),
    hangingRequest: trouble(0.05),
    failingRequest: trouble(0.2),
    cancelledRequest: trouble(0.4),
    deadlineRequest: trouble(0.8),
    oddRequest: trouble(0.1),
    sickWorker: trouble(0.6),
    crashInRun: trouble(0.15),
    crashAfterAnswer: trouble(0.15),
    crashWhileIdle: trouble(0.8),
    crashInLoad: trouble(0.3),
    creditChange: trouble(0.5),
    modelChange: trouble(0.2),
    workerUnserves: trouble(0.2),
    reservedInstance: rare.chance(0.25) ? rare.next() : 0,
    breakerClosed: rare.chance(0.25) ? 0.2 : 0,
    limitedWait: rare.chance(0.15) ? rare.next() : 0,
    strayMessage: trouble(0.2),
    earlyTimer: trouble(0.8),
    flood: trouble(0.15),
    earlyDrain: trouble(0.5),
    areWorkerIdsUsedAgain: random.chance(0.5),
    callerCount: random.chance(0.4) ? 1 : random.integer(2, 4),
    hasGroups: random.chance(0.4),
    levelledModel: trouble(0.8),
    delayingModel: trouble(0.8),
    orderedModel: trouble(0.6),
    timedQueue: trouble(0.5),
    boundedLevel: trouble(0.2),
    retiredModel: trouble(1),
    queueTimeoutRequest: trouble(0.3),
  };
}
