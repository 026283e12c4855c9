/** The seam for edges that carry many requests on one call: inputs in, outputs out, both held back where the other side is slow, and one ending. */
import type { StreamWindowLimits } from '@millrace/core';
import type { CancelReason, CancelSignal, InferenceError } from '@millrace/protocol';
import type { InferAnswer, InferRequest } from '../infer.ts';

/** One request of a stream. */
export interface StreamInput {
  /**
   * Called when it is this input's turn to be read: a promise where that takes long, and inputs behind it wait, so that the
   * steps of a sequence do not overtake each other. What it throws is the answer.
   */
  readonly request: (signal: CancelSignal) => InferRequest | Promise<InferRequest>;
  /** What is still to be done with an answer before it is due; looked at when there is one. The answer is released by whoever is given the result. */
  readonly finish?: ((answer: InferAnswer, signal: CancelSignal) => Promise<InferAnswer>) | undefined;
  /** Called when all is said of the input: whatever it was made of is no longer read. */
  readonly onDone: () => void;
}

/** What an input came to, or a part of it. */
export interface StreamOutput<Input extends StreamInput = StreamInput> {
  readonly input: Input;
  /** One whose `isEnd` is set is no answer, only the end of those there were. */
  readonly result: InferAnswer | InferenceError;
  /** Nothing more comes of the input. */
  readonly isFinal: boolean;
}

/** `done`: every input has had its outputs. `draining`: the same, and the server takes no more. */
export type StreamEnding = 'done' | 'draining';

export interface StreamListener<Input extends StreamInput = StreamInput> {
  /** Called at most as often as `grant` has allowed. Whoever gets an answer releases it. */
  onOutput(output: StreamOutput<Input>): void;
  /** Whether further inputs are to be held back by the edge. */
  onHold(isHeld: boolean): void;
  /** Last, once; not after `abandon`. */
  onEnd(ending: StreamEnding): void;
}

/** Memory for outputs that wait: for those before them, or for the caller to read. */
export interface StreamMemory {
  hasRoomToKeep(bytes: number): boolean;
  count(bytes: number): void;
  give(bytes: number): void;
}

export interface InferStream<Input extends StreamInput = StreamInput> {
  input(input: Input): void;
  /** There will be no further input. */
  endInput(): void;
  /** The caller takes so many more outputs. */
  grant(outputs: number): void;
  /** Requests under way are cancelled, and answered as such. */
  cancel(reason: CancelReason): void;
  /** Takes no further input; ends when those it has are answered. */
  drain(): void;
  /** Nobody waits for anything any more. */
  abandon(): void;
}

/** What an edge opens a stream with. */
export interface StreamOptions<Input extends StreamInput = StreamInput> {
  readonly limits: StreamWindowLimits;
  readonly memory: StreamMemory;
  readonly listener: StreamListener<Input>;
}
