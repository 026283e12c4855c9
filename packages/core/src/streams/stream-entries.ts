/**
 * What the journal of a stream holds, in the order in which it was decided. The caller turns entries into bytes and back.
 * A log is replayed from its last checkpoint; the entries before it that are still needed are restated by `trim`.
 */
import type { StreamError } from './stream-errors.ts';

/** What inputs, outputs and states hold is opaque: the machine only counts its bytes. A Uint8Array is one. */
export interface SizedPayload {
  readonly byteLength: number;
}

/** The first entry of every log. What the caller has to remember of the opening, such as the principal, is the payload. */
export interface OpeningEntry<Payload> {
  readonly kind: 'opening';
  readonly payload: Payload;
  /** The stream ends as `expired` at this time, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An input, appended in the order of application. */
export interface InputEntry<Payload> {
  readonly kind: 'input';
  readonly sequence: number;
  /** Undefined: it only ends the inputs. */
  readonly payload: Payload | undefined;
  readonly isLast: boolean;
  readonly eventTime: number | undefined;
  /** It came too late by its event time, and is answered by an empty output without being run. */
  readonly isDropped: boolean;
}

export interface OutputEntry<Payload> {
  readonly kind: 'output';
  readonly sequence: number;
  /** The input that it answers. */
  readonly input: number;
  /** Undefined: it only says that the input has no further output. */
  readonly payload: Payload | undefined;
  /** The last output of its input: every input that has a payload gets exactly one such output. */
  readonly isLast: boolean;
}

export interface CheckpointEntry<Payload> {
  readonly kind: 'checkpoint';
  /** This input and all before it are applied, and answered up to their last output. */
  readonly input: number;
  /** The input with which the client ended its inputs, if it is among those. */
  readonly isEndOfInput: boolean;
  /** Of a stateful model, after that input. */
  readonly state: Payload | undefined;
  /** Outputs numbered so far, and how many of them belong to the input after the one above. */
  readonly outputs: number;
  readonly partialOutputs: number;
  readonly acknowledgedOutput: number;
  /** The latest event time of all inputs so far; undefined: none had one. */
  readonly eventTimeMax: number | undefined;
}

export type EndingOutcome = 'done' | 'failed' | 'cancelled' | 'expired';

/** The last entry of every log. */
export interface EndingEntry {
  readonly kind: 'ending';
  readonly outcome: EndingOutcome;
  /** Undefined if the outcome is `done`. */
  readonly error: StreamError | undefined;
  /** Number of outputs of the stream. */
  readonly outputs: number;
  /** In milliseconds since 1970: its resume window goes on when another process takes it over. */
  readonly endedAt: number;
}

export type StreamEntry<Payload> =
  | OpeningEntry<Payload>
  | InputEntry<Payload>
  | OutputEntry<Payload>
  | CheckpointEntry<Payload>
  | EndingEntry;

/** What an entry takes beside its payload, in memory and in a journal: an estimate for limits. */
export const streamEntryOverheadBytes = 64;

export function streamEntryBytes(entry: StreamEntry<SizedPayload>): number {
  const payload = entry.kind === 'checkpoint' ? entry.state : entry.kind === 'ending' ? undefined : entry.payload;
  return streamEntryOverheadBytes + (payload?.byteLength ?? 0);
}
