/** Settings of durable streams. */
import type { LateInputPolicy } from '@millrace/core';

export interface StreamSettings {
  /** Streams that are open at once, and those of one caller. */
  readonly openMax: number;
  readonly openPerCallerMax: number;
  /** A stream without a client expires after this time. */
  readonly resumeWindowMs: number;
  /** A stream ends after this time, whoever is connected. */
  readonly lifeMsMax: number;
  /** How long a stream with work waits for its caller's share of the journal. */
  readonly journalWaitMsMax: number;
  /** Deaths of routers that restored a stream alone, after which it is not tried again. */
  readonly restoreDeathsMax: number;
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
