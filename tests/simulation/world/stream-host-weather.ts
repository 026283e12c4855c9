/** What a seed decides about the durable streams of a world: how many, their limits, and what goes wrong with them. */
import type { StreamSettings } from '@millrace/router/internal';
import type { SimulationRandom } from './random.ts';

export interface StreamHostWeather {
  readonly settings: StreamSettings;
  readonly streamCount: number;
  readonly inputsMax: number;
  /** Models for streams alone; others use the remaining ones, too. */
  readonly hasStateful: boolean;
  readonly hasDecoupled: boolean;
  readonly isResumable: boolean;
  readonly callerCount: number;
  /** Streams begin within this time. */
  readonly openMsMax: number;
  readonly inputPauseMsMax: number;
  readonly linkMsMax: number;
  readonly commitMsMax: number;
  /** How long it takes to read the files of a model. */
  readonly digestMsMax: number;
  /** Of inputs that come in calls of their own. */
  readonly lossShare: number;
  /** Shares of streams: two clients, one that is slow, inputs in calls of their own, a client that never acknowledges. */
  readonly twoClients: number;
  readonly slowClient: number;
  readonly unordered: number;
  readonly unacknowledging: number;
  readonly leavingClient: number;
  readonly cancellingClient: number;
  /** Inputs whose event time is far behind. */
  readonly lateShare: number;
  /** Milliseconds between faults of each kind, on average; Infinity: none. */
  readonly cutMs: number;
  /** The process of the host dies; with this probability it hangs first, and comes back when another has its streams. */
  readonly deathMs: number;
  readonly zombieShare: number;
  readonly drainMs: number;
  /** A commit of the journal fails, and nobody knows what was kept. */
  readonly unknownMs: number;
  /** Files of a model with streams are written anew, or removed for a while. */
  readonly reloadMs: number;
  /** Somebody else asks for a stream, or its own client with other parameters. */
  readonly strangerMs: number;
  readonly logEntriesMax: number;
}

/** A stream that is not in trouble ends sooner. */
export const longLifeMs = 40_000;
const never = Number.POSITIVE_INFINITY;

export function streamHostWeatherFrom(random: SimulationRandom): StreamHostWeather {
  const every = (share: number, min = 200, max = 3000): number =>
    random.chance(share) ? random.integer(min, max) : never;
  const share = (probability: number, most: number): number => (random.chance(probability) ? random.next() * most : 0);
  const hasStateful = random.chance(0.6);
  return {
    settings: {
      openMax: random.chance(0.05) ? random.integer(1, 3) : 100,
      openPerCallerMax: random.chance(0.1) ? random.integer(1, 2) : 100,
      resumeWindowMs: random.integer(2000, 10_000),
      // A stream whose model never fits into memory waits for it until its life is over.
      lifeMsMax: random.chance(0.1) ? random.integer(500, 10_000) : longLifeMs,
      journalWaitMsMax: 60_000,
      restoreDeathsMax: 3,
      drainMsMax: random.chance(0.5) ? random.integer(100, 1000) : random.integer(1000, 15_000),
      creditMessages: random.integer(1, 12),
      creditBytes: random.chance(0.3) ? random.integer(60, 500) : 100_000,
      inputBytesMax: 1000,
      retainedOutputsMax: random.chance(0.3) ? random.integer(2, 8) : 1000,
      retainedBytesMax: random.chance(0.3) ? random.integer(200, 2000) : 100_000,
      lateInputs: random.chance(0.6) ? 'drop' : 'apply',
      latenessMsMax: random.chance(0.4) ? 100 : never,
    },
    streamCount: random.integer(1, 6),
    inputsMax: random.pick([4, 12, 30]),
    hasStateful,
    hasDecoupled: !hasStateful || random.chance(0.4),
    isResumable: random.chance(0.7),
    callerCount: random.integer(1, 3),
    openMsMax: random.pick([10, 500, 2000]),
    inputPauseMsMax: random.pick([0, 50, 300]),
    linkMsMax: random.pick([1, 20, 100]),
    commitMsMax: random.pick([1, 10, 50]),
    digestMsMax: random.pick([0, 5, 100]),
    lossShare: share(0.4, 0.3),
    twoClients: share(0.3, 1),
    slowClient: share(0.3, 1),
    unordered: share(0.4, 1),
    unacknowledging: share(0.5, 1),
    leavingClient: share(0.2, 0.5),
    cancellingClient: share(0.2, 0.5),
    lateShare: share(0.4, 0.4),
    cutMs: every(0.6, 50, 800),
    deathMs: every(0.4, 200, 2000),
    zombieShare: share(0.4, 1),
    drainMs: every(0.2),
    unknownMs: every(0.3),
    reloadMs: every(0.5, 200, 2000),
    strangerMs: every(0.3),
    logEntriesMax: random.chance(0.06) ? random.integer(4, 30) : never,
  };
}
