/** What a seed decides about a world with one durable stream: its model, its clients, and what goes wrong. */
import type { StreamMachineConfig, StreamModelKind } from '@millrace/core';
import type { SimulationRandom } from '../world/random.ts';

export interface StreamWeather {
  readonly config: Partial<StreamMachineConfig> & { readonly model: StreamModelKind };
  readonly inputs: number;
  /** The client ends its inputs by one without a payload. */
  readonly hasBareEnd: boolean;
  /** Share of inputs whose event time is far behind. */
  readonly lateShare: number;
  readonly clients: number;
  readonly isAcknowledging: boolean;
  readonly isUnordered: boolean;
  readonly outputCredit: number;
  readonly outputCreditBytes: number;
  readonly consumeMsMax: number;
  readonly linkMsMax: number;
  readonly commitMsMax: number;
  readonly stepMsMax: number;
  readonly lossShare: number;
  /** Milliseconds between faults of each kind, on average; Infinity: none. */
  readonly cutMs: number;
  readonly crashMs: number;
  readonly takeOverMs: number;
  readonly unknownMs: number;
  readonly drainMs: number;
  readonly deathShare: number;
  readonly hangShare: number;
  /** An input that kills every worker; 0: none. */
  readonly poisonInput: number;
  /** An input whose step fails; 0: none. */
  readonly failingInput: number;
  /** Steps run again give other outputs. */
  readonly isDivergent: boolean;
  readonly logEntriesMax: number;
  /** Between the times at which the owner of the stream has its share of the journal, on average, and how long each lasts at most. */
  readonly scarceMs: number;
  readonly scarceMsMax: number;
  /** The client leaves for good, or cancels, at this time. */
  readonly leavesAt: number;
  readonly cancelsAt: number;
  readonly modelLostAt: number;
  readonly timeToLiveMs: number;
  /** After it nothing goes wrong any more. */
  readonly faultsUntil: number;
}

export function streamWeatherOf(random: SimulationRandom): StreamWeather {
  const never = Number.POSITIVE_INFINITY;
  const model = random.pick(['independent', 'stateful', 'decoupled'] as const);
  const rare = (share: number, value: () => number): number => (random.chance(share) ? value() : never);
  const faultsUntil = random.integer(2_000, 30_000);
  const every = (share: number): number => rare(share, () => random.integer(300, 8_000));
  const inputs = random.integer(1, 60);
  const weather: Omit<StreamWeather, 'scarceMs' | 'scarceMsMax'> = {
    config: {
      model,
      isResumable: model !== 'decoupled' || random.chance(0.8),
      reorderInputsMax: 8,
      reorderBytesMax: 600,
      pendingInputsMax: random.integer(1, 8),
      pendingBytesMax: 400,
      inputBytesMax: 200,
      lateInputs: random.chance(0.7) ? 'drop' : 'apply',
      latenessMsMax: random.chance(0.5) ? 100 : never,
      retainedOutputsMax: random.integer(2, 20),
      retainedBytesMax: random.integer(200, 2_000),
      unsentOutputsMax: 3,
      unsentBytesMax: 300,
      stepsMax: random.integer(1, 4),
      outputsAheadMax: random.integer(1, 4),
      checkpointInputsMax: random.integer(1, 6),
      checkpointMsMax: random.integer(50, 1_000),
      staleBytesMin: random.integer(0, 2_000),
      staleEntriesMin: random.integer(1, 24),
      resumeWindowMs: 20_000,
    },
    inputs,
    hasBareEnd: random.chance(0.3),
    lateShare: random.chance(0.5) ? 0.2 : 0,
    clients: random.chance(0.3) ? 2 : 1,
    isAcknowledging: random.chance(0.6),
    isUnordered: random.chance(0.4),
    outputCredit: random.integer(1, 12),
    outputCreditBytes: random.integer(50, 1_000),
    consumeMsMax: random.chance(0.2) ? 800 : 20,
    linkMsMax: random.pick([1, 20, 200]),
    commitMsMax: random.pick([1, 20, 100]),
    stepMsMax: random.pick([1, 30, 300]),
    lossShare: random.chance(0.3) ? 0.1 : 0,
    cutMs: every(0.6),
    crashMs: every(0.5),
    takeOverMs: every(0.4),
    unknownMs: every(0.3),
    drainMs: every(0.2),
    deathShare: random.chance(0.4) ? random.pick([0.05, 0.4]) : 0,
    hangShare: random.chance(0.2) ? 0.05 : 0,
    poisonInput: random.chance(0.05) ? random.integer(1, inputs) : 0,
    failingInput: random.chance(0.03) ? random.integer(1, inputs) : 0,
    isDivergent: model !== 'independent' && random.chance(0.03),
    logEntriesMax: rare(0.04, () => random.integer(4, 40)),
    leavesAt: rare(0.04, () => random.integer(0, faultsUntil)),
    cancelsAt: rare(0.05, () => random.integer(0, faultsUntil)),
    modelLostAt: rare(0.03, () => random.integer(0, faultsUntil)),
    timeToLiveMs: random.chance(0.03) ? random.integer(1_000, 20_000) : 3_600_000,
    faultsUntil,
  };
  const scarce = {
    scarceBytesMax: random.integer(50, 2_000),
    scarceStaleBytesMin: random.integer(1, 500),
    journalWaitMsMax: random.integer(500, 5_000),
    resumeGraceMs: 2_000,
  };
  const config = { ...weather.config, ...scarce };
  return { ...weather, config, scarceMs: every(0.3), scarceMsMax: random.pick([200, 2_000, 8_000]) };
}
