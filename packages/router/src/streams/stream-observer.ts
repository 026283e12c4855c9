/** What happens to streams, for metrics. Nothing here is called for an output that is made and sent once. */
import type { EndingOutcome } from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';

/**
 * How a client came back to a stream:
 * - `reconnect`: the stream had no client;
 * - `router-restart`: this process has restored the stream from the journal, and this is its first client since;
 * - `take-over`: an earlier connection was still attached, and is closed with `stream-superseded`.
 */
export type ResumeCause = 'reconnect' | 'router-restart' | 'take-over';

export interface StreamObserver {
  streamOpened(): void;
  /** A stream that was asked for was neither opened nor resumed. */
  streamRefused(code: ErrorCode): void;
  streamResumed(cause: ResumeCause): void;
  /** How long the client was without the stream; resume-watch.ts says from when to when. */
  streamRejoined(gapMs: number): void;
  /** `code`: undefined if the outcome is `done`. `isAbandoned`: it has expired because no client resumed it in time. */
  streamEnded(outcome: EndingOutcome, code: ErrorCode | undefined, isAbandoned: boolean): void;
  /** Its owner has its share of the journal: it waits. */
  streamPaused(): void;
  inputsLate(count: number): void;
  /** An input runs again; so many of its outputs are journaled, and are compared and skipped. */
  stepRepeated(journaledOutputs: number): void;
  /** There was no capacity for a step: it is asked again later. */
  stepPostponed(): void;
  /** A worker died while it ran a step, and the scheduler could not hide it. */
  workerLost(): void;
}
