import { assert } from '../assert.ts';

/**
 * What the model of a stream does with an input. `independent`: one answer, several inputs at once. `stateful`: one answer
 * and a new state, one input at a time. `decoupled`: any number of outputs, one input at a time.
 */
export type StreamModelKind = 'independent' | 'stateful' | 'decoupled';

/** What becomes of an input whose event time is before the watermark. */
export type LateInputPolicy = 'apply' | 'drop' | 'refuse';

export interface StreamMachineConfig {
  readonly model: StreamModelKind;
  /** False, of a decoupled model: an input cannot be run again, so the stream ends with its worker. */
  readonly isResumable: boolean;
  /** Inputs that wait for one before them, or for room among the pending ones. */
  readonly reorderInputsMax: number;
  readonly reorderBytesMax: number;
  /** Inputs that are applied and not completely answered. */
  readonly pendingInputsMax: number;
  readonly pendingBytesMax: number;
  /** Bytes of one input; at most half of the pending bytes. */
  readonly inputBytesMax: number;
  readonly lateInputs: LateInputPolicy;
  /** The watermark is this much before the latest event time that arrived; Infinity: no input is late. */
  readonly latenessMsMax: number;
  /** Outputs that are kept for a resume; a client that acknowledges is waited for, otherwise the oldest go. */
  readonly retainedOutputsMax: number;
  readonly retainedBytesMax: number;
  /** The same as `retainedBytesMax` while memory is scarce. */
  readonly scarceBytesMax: number;
  /** Outputs that a link is sent before its transport has taken them, whatever credit the client gives. */
  readonly unsentOutputsMax: number;
  readonly unsentBytesMax: number;
  /** Steps of an independent model at once. */
  readonly stepsMax: number;
  /**
   * Outputs that a step of a decoupled model is granted ahead: so many that they hold about `outputsAheadBytes` if they are
   * like the largest one so far, at least `outputsAheadMin` and at most `outputsAheadMax`, which wins.
   */
  readonly outputsAheadMin: number;
  readonly outputsAheadMax: number;
  readonly outputsAheadBytes: number;
  readonly checkpointInputsMax: number;
  readonly checkpointMsMax: number;
  /** A log is trimmed when what it could lose is more than what it has to keep, by at least this much. */
  readonly staleBytesMin: number;
  readonly staleEntriesMin: number;
  /** The same as `staleBytesMin` while the journal is scarce. */
  readonly scarceStaleBytesMin: number;
  /** A stream that has work ends when the journal has been scarce for so long. */
  readonly journalWaitMsMax: number;
  /** A stream without a client expires after this time; an ended one can be resumed for as long. */
  readonly resumeWindowMs: number;
  /** So much of the window is left at least when a process takes the stream over, once: nobody could resume before. */
  readonly resumeGraceMs: number;
  /** Deaths of workers that ran an input alone, after which it is refused. */
  readonly suspectDeathsMax: number;
}

const mebibyte = 1024 ** 2;

export const defaultStreamMachineConfig: StreamMachineConfig = Object.freeze({
  model: 'independent',
  isResumable: true,
  reorderInputsMax: 64,
  reorderBytesMax: 8 * mebibyte,
  pendingInputsMax: 64,
  pendingBytesMax: 8 * mebibyte,
  inputBytesMax: 4 * mebibyte,
  lateInputs: 'apply',
  latenessMsMax: Number.POSITIVE_INFINITY,
  retainedOutputsMax: 10_000,
  retainedBytesMax: 4 * mebibyte,
  scarceBytesMax: 64 * 1024,
  unsentOutputsMax: 256,
  unsentBytesMax: 256 * 1024,
  stepsMax: 32,
  outputsAheadMin: 16,
  outputsAheadMax: 256,
  outputsAheadBytes: mebibyte,
  checkpointInputsMax: 16,
  checkpointMsMax: 1_000,
  staleBytesMin: 256 * 1024,
  staleEntriesMin: 256,
  scarceStaleBytesMin: 4 * 1024,
  journalWaitMsMax: 60_000,
  resumeWindowMs: 120_000,
  resumeGraceMs: 10_000,
  suspectDeathsMax: 2,
});

const resolvedConfigs = new WeakSet<object>();

/** One that was resolved before is given back: streams can share it. */
export function resolveStreamMachineConfig(options: Partial<StreamMachineConfig>): StreamMachineConfig {
  if (resolvedConfigs.has(options)) return options as StreamMachineConfig;
  const config: StreamMachineConfig = Object.freeze({ ...defaultStreamMachineConfig, ...options });
  assert(config.isResumable || config.model === 'decoupled', 'isResumable is false for decoupled models only');
  assert(config.pendingInputsMax >= 1, 'pendingInputsMax is at least 1');
  assert(config.inputBytesMax >= 1, 'inputBytesMax is at least 1');
  assert(config.pendingBytesMax >= 2 * config.inputBytesMax, 'pendingBytesMax is at least twice inputBytesMax');
  // A client that stays within its credit never leaves the reorder window.
  assert(config.reorderInputsMax >= config.pendingInputsMax, 'reorderInputsMax is at least pendingInputsMax');
  assert(config.reorderBytesMax >= config.pendingBytesMax, 'reorderBytesMax is at least pendingBytesMax');
  assert(config.latenessMsMax >= 0, 'latenessMsMax is at least 0');
  assert(config.retainedOutputsMax >= 1, 'retainedOutputsMax is at least 1');
  assert(config.retainedBytesMax >= 1, 'retainedBytesMax is at least 1');
  assert(config.scarceBytesMax >= 1, 'scarceBytesMax is at least 1');
  assert(config.unsentOutputsMax >= 1, 'unsentOutputsMax is at least 1');
  assert(config.stepsMax >= 1, 'stepsMax is at least 1');
  assert(config.outputsAheadMax >= 1, 'outputsAheadMax is at least 1');
  assert(config.checkpointInputsMax >= 1, 'checkpointInputsMax is at least 1');
  assert(config.checkpointMsMax > 0, 'checkpointMsMax is above 0');
  assert(config.staleEntriesMin >= 1, 'staleEntriesMin is at least 1');
  assert(config.scarceStaleBytesMin >= 1, 'scarceStaleBytesMin is at least 1');
  assert(config.journalWaitMsMax > 0, 'journalWaitMsMax is above 0');
  assert(config.resumeWindowMs > 0, 'resumeWindowMs is above 0');
  assert(config.resumeGraceMs >= 0, 'resumeGraceMs is at least 0');
  assert(config.suspectDeathsMax >= 1, 'suspectDeathsMax is at least 1');
  resolvedConfigs.add(config);
  return config;
}
