import {
  type BreakerPolicy,
  defaultBreakerPolicy,
  type KeeperConfig,
  type RetryPolicy,
  type SchedulerConfig,
} from '@millrace/core';
import type { SimulationRandom } from './random.ts';
import { type StreamHostWeather, streamHostWeatherFrom } from './stream-host-weather.ts';

export const mebibyte: number = 1024 * 1024;
/** Worlds with durable streams. */
const streamsShare = 0.35;

/** The limits of the scheduler that differ from seed to seed. */
export interface WorldLimits
  extends Pick<SchedulerConfig, 'waitingRequestsMax' | 'waitingBytesMax' | 'callerRequestsMax' | 'lookAheadMax'> {
  readonly retry: Pick<RetryPolicy, 'deathsMax' | 'killsMax' | 'requeuesMax'>;
  readonly breaker: BreakerPolicy;
}

/**
 * What a seed's world is like. Each kind of trouble is absent from about half of the seeds, so that the others are seen
 * in all combinations and none drowns the rest.
 */
export interface Weather {
  readonly limits: WorldLimits;
  readonly modelCount: number;
  /** Probabilities for each model: it shares workers with others, runs many batches at once, has several versions. */
  readonly sharedModel: number;
  readonly concurrentModel: number;
  readonly manyVersions: number;
  /** The same for what models do besides: results are cached, runs call another model. */
  readonly cachedModel: number;
  readonly callingModel: number;
  /** Probabilities for a model with sequences, an ensemble of others, one with several answers to a request. */
  readonly sequenceModel: number;
  readonly ensembleModel: number;
  readonly decoupledModel: number;
  /** Requests with more rows than a batch holds are split. */
  readonly splitModel: number;
  /** Infinity: no budget. */
  /** Small models share workers. */
  readonly sharesWorkers: boolean;
  readonly budgetBytes: number;
  readonly keeper: Pick<KeeperConfig, 'loadsMax' | 'demandWaitersMax' | 'residencyMsMin' | 'retry'>;
  readonly requestCount: number;
  readonly burstMax: number;
  readonly gapMsMax: number;
  readonly latencyMsMax: number;
  readonly runMsMax: number;
  readonly loadMsMax: number;
  /** How long a file of the repository takes to read. */
  readonly readMsMax: number;
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
  readonly failedLoad: number;
  /** A load that never ends. */
  readonly hangingLoad: number;
  /** A process that does not end when it is asked to. */
  readonly deafWorker: number;
  readonly creditChange: number;
  readonly modelChange: number;
  /** Labels and splits. */
  readonly trafficChange: number;
  /** A worker says that it does not have a model that it was given a batch of, and ends soon after. */
  readonly forgottenModel: number;
  readonly resized: number;
  /** A model whose files cannot be read for a while. */
  readonly unreadable: number;
  readonly pinned: number;
  /** A request that names a version or a label. */
  readonly exactAddress: number;
  /** A model on a worker that takes urgent requests only; one worker of each model takes all. */
  readonly reservedInstance: number;
  /** An operator closes a breaker, needed or not. */
  readonly breakerClosed: number;
  readonly limitedWait: number;
  readonly strayMessage: number;
  readonly earlyTimer: number;
  /** Many requests at once for one model, and for all of them. */
  readonly flood: number;
  readonly stampede: number;
  /** A model has one instance. */
  readonly soleInstance: number;
  /** The router ends in the midst of it all; every world ends with that in any case. */
  readonly earlyEnd: number;
  /** A pause between two bursts that is long enough for restarts and further attempts. */
  readonly longPause: number;
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
  readonly queueTimeoutRequest: number;
  /** The bits of the models that streams of an earlier process wait for at the start. */
  readonly streamedModels: number;
  /** One request in so many must not share a batch; 0: none. */
  readonly aloneEvery: number;
  /** Undefined: no durable streams. */
  readonly streams: StreamHostWeather | undefined;
}

/**
 * What only some worlds have is drawn from a stream of its own: the others stay as they were, and with them the seeds that
 * are known to find something.
 */
export function weatherFrom(random: SimulationRandom, rare: SimulationRandom, streams: SimulationRandom): Weather {
  const trouble = (probabilityMax: number): number => (random.chance(0.5) ? random.next() * probabilityMax : 0);
  const weather: Weather = {
    limits: {
      waitingRequestsMax: random.chance(0.2) ? random.integer(4, 30) : 10_000,
      callerRequestsMax: rare.chance(0.1) ? rare.integer(1, 12) : 10_000,
      waitingBytesMax: random.chance(0.2) ? random.integer(200, 2000) : 1_000_000,
      lookAheadMax: random.chance(0.3) ? random.integer(1, 6) : 256,
      retry: {
        deathsMax: random.chance(0.2) ? random.integer(1, 3) : 2,
        killsMax: rare.chance(0.2) ? rare.integer(1, 3) : 4,
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
    sharedModel: random.chance(0.5) ? 0.5 + 0.5 * random.next() : 0,
    concurrentModel: trouble(1),
    manyVersions: trouble(1),
    cachedModel: trouble(0.7),
    callingModel: trouble(1),
    sequenceModel: trouble(1),
    ensembleModel: trouble(1),
    decoupledModel: trouble(0.8),
    splitModel: trouble(0.5),
    budgetBytes: random.chance(0.5) ? Infinity : random.integer(150, 600) * mebibyte,
    keeper: {
      loadsMax: random.integer(1, 4),
      demandWaitersMax: random.integer(3, 40),
      residencyMsMin: random.integer(0, 100),
      retry: { pauseMs: 20, pauseMsMax: 200 },
    },
    requestCount: random.integer(20, 170),
    burstMax: random.integer(1, 10),
    gapMsMax: random.integer(1, 30),
    latencyMsMax: random.integer(0, 5),
    runMsMax: random.integer(1, 40),
    loadMsMax: random.integer(1, 300),
    readMsMax: random.integer(0, 10),
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
    failedLoad: trouble(0.3),
    hangingLoad: trouble(0.1),
    deafWorker: trouble(0.1),
    creditChange: trouble(0.5),
    modelChange: trouble(0.3),
    trafficChange: trouble(0.4),
    forgottenModel: trouble(0.05),
    resized: trouble(0.15),
    unreadable: trouble(0.1),
    pinned: rare.chance(0.25) ? 0.2 * rare.next() : 0,
    exactAddress: trouble(0.8),
    reservedInstance: rare.chance(0.25) ? rare.next() : 0,
    breakerClosed: rare.chance(0.25) ? 0.2 : 0,
    sharesWorkers: rare.chance(0.6),
    limitedWait: rare.chance(0.15) ? rare.next() : 0,
    strayMessage: trouble(0.2),
    earlyTimer: trouble(0.8),
    flood: trouble(0.15),
    stampede: 0,
    soleInstance: 0.5,
    earlyEnd: trouble(0.2),
    longPause: trouble(0.3),
    callerCount: random.chance(0.4) ? 1 : random.integer(2, 4),
    hasGroups: random.chance(0.4),
    levelledModel: trouble(0.8),
    delayingModel: trouble(0.8),
    orderedModel: trouble(0.6),
    timedQueue: trouble(0.5),
    boundedLevel: trouble(0.2),
    queueTimeoutRequest: trouble(0.3),
    aloneEvery: 0,
    streamedModels: 0,
    streams: streams.chance(streamsShare) ? streamHostWeatherFrom(streams) : undefined,
  };
  if (rare.chance(0.12)) return { ...weather, ...crowd };
  const aloneEvery = rare.chance(0.25) ? rare.integer(2, 6) : 0;
  const streamedModels = rare.chance(0.2) ? rare.integer(1, 15) : 0;
  return { ...weather, aloneEvery, streamedModels };
}

/** Two models that contend for their workers, and nothing else: how they share shows only over many batches. */
const crowd: Partial<Weather> = {
  modelCount: 2,
  sharedModel: 1,
  budgetBytes: Infinity,
  stampede: 1,
  soleInstance: 1,
  resized: 0,
  creditChange: 0,
  requestCount: 120,
  loadMsMax: 5,
  crashInLoad: 0,
  failedLoad: 0,
  hangingLoad: 0,
  forgottenModel: 0,
  unreadable: 0,
  splitModel: 0,
  cachedModel: 0,
  sequenceModel: 0,
  ensembleModel: 0,
  decoupledModel: 0,
  cancelledRequest: 0,
  reservedInstance: 0,
  runMsMax: 8,
  poisonRequest: 0,
  hangingRequest: 0,
  crashInRun: 0,
  crashAfterAnswer: 0,
  crashWhileIdle: 0,
  sickWorker: 0,
  modelChange: 0,
  delayingModel: 0,
  deadlineRequest: 0,
  earlyEnd: 0,
  streams: undefined,
};
