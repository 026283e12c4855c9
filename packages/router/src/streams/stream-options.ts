/** Settings of durable streams. */
import { defaultStreamMachineConfig, type LateInputPolicy } from '@millrace/core';

export interface StreamSettings {
  /** Streams that are open at once, and those of one caller. */
  readonly openMax: number;
  readonly openPerCallerMax: number;
  /** A stream without a client is cancelled after this time. */
  readonly resumeWindowMs: number;
  /** A stream ends after this time, whoever is connected. */
  readonly lifeMsMax: number;
  /** How long a replaced version stays for the streams that are pinned to it. */
  readonly drainMsMax: number;
  /** What a client that does not acknowledge, or names no credit, is sent ahead. */
  readonly creditMessages: number;
  readonly creditBytes: number;
  readonly inputBytesMax: number;
  readonly retainedOutputsMax: number;
  readonly retainedBytesMax: number;
  readonly lateInputs: LateInputPolicy;
  readonly latenessMsMax: number;
}

export const defaultStreamSettings: StreamSettings = Object.freeze({
  openMax: 20_000,
  openPerCallerMax: 12_000,
  resumeWindowMs: defaultStreamMachineConfig.resumeWindowMs,
  lifeMsMax: 24 * 3_600_000,
  drainMsMax: 300_000,
  creditMessages: 256,
  creditBytes: 1024 ** 2,
  inputBytesMax: defaultStreamMachineConfig.inputBytesMax,
  retainedOutputsMax: defaultStreamMachineConfig.retainedOutputsMax,
  retainedBytesMax: defaultStreamMachineConfig.retainedBytesMax,
  lateInputs: defaultStreamMachineConfig.lateInputs,
  latenessMsMax: defaultStreamMachineConfig.latenessMsMax,
});
