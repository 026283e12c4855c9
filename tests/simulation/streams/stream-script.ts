/** What a stream is to do: its inputs, what its model makes of them, and what may end it. */
import type { StreamMachineConfig, StreamModelKind } from '@millrace/core';
import { type ModelRun, modelRun, type PlannedInput, plannedInput, type SimulatedValue } from './reference-run.ts';
import type { StreamWeather } from './stream-weather.ts';

export interface StreamScript {
  readonly config: Partial<StreamMachineConfig> & { readonly model: StreamModelKind };
  readonly isAcknowledging: boolean;
  /** Steps run again give other outputs. */
  readonly isDivergent: boolean;
  planned(sequence: number): PlannedInput;
  run(input: SimulatedValue, state: SimulatedValue | undefined): ModelRun;
  /** Whether something has happened because of which the stream may end with this code. */
  mayEnd(code: string): boolean;
}

export function streamScriptOf(seed: number, weather: StreamWeather): StreamScript {
  const { config, isAcknowledging, isDivergent } = weather;
  const never = Number.POSITIVE_INFINITY;
  const mayEnd: Readonly<Record<string, boolean>> = {
    'inference-failed': weather.failingInput > 0,
    'journal-full':
      weather.logEntriesMax < never ||
      (weather.scarceMs < never && weather.scarceMsMax >= (config.journalWaitMsMax ?? never)),
    'model-unloaded': weather.modelLostAt < never,
    'replay-diverged': isDivergent,
    'stream-expired': weather.timeToLiveMs < 3_600_000 || weather.leavesAt < never || weather.clients > 1,
    'worker-lost': config.isResumable === false,
  };
  return {
    config,
    isAcknowledging,
    isDivergent,
    planned: (sequence) => plannedInput(seed, sequence, weather),
    run: (input, state) => modelRun(config.model, input, state),
    mayEnd: (code) => mayEnd[code] === true,
  };
}
