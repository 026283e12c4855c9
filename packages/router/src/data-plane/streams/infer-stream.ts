/** The interface for edges with many requests on one call: inputs in, outputs out, both with back-pressure, and one end. */
import type { StreamWindowLimits } from '@millrace/core';
import type { CancelReason, CancelSignal, InferenceError } from '@millrace/protocol';
import type { InferAnswer, InferRequest } from '../infer.ts';

/** One request of a stream. */
export interface StreamInput {
  /**
   * Called when it is this input's turn to be decoded. It returns a promise where that takes long; later inputs wait for it, so
   * that the steps of a sequence stay in order. An error that it throws is returned as the answer.
   */
  readonly request: (signal: CancelSignal) => InferRequest | Promise<InferRequest>;
  /** Processes an answer before it is sent; read when there is an answer. The receiver of the result releases the answer. */
  readonly finish?: ((answer: InferAnswer, signal: CancelSignal) => Promise<InferAnswer>) | undefined;
  /** Called when the input is finished: the memory it was decoded from is no longer read. */
  readonly onDone: () => void;
}

/** The answer to an input, one of several answers, or its failure. */
export interface StreamOutput<Input extends StreamInput = StreamInput> {
  readonly input: Input;
  /** With `isEnd` set it is not an answer, only the end of the answers before it. */
  readonly result: InferAnswer | InferenceError;
  /** It is the last output of the input. */
  readonly isFinal: boolean;
}

/** `done`: every input was answered. `draining`: the same, and the server takes no further inputs. */
export type StreamEnding = 'done' | 'draining';

export interface StreamListener<Input extends StreamInput = StreamInput> {
  /** Called at most as often as `grant` has allowed. The receiver releases the answer. */
  onOutput(output: StreamOutput<Input>): void;
  /** Tells the edge to hold back further inputs, or to resume. */
  onHold(isHeld: boolean): void;
  /** Called once, last; not after `abandon`. */
  onEnd(ending: StreamEnding): void;
}

/** Accounts for the memory of outputs that wait for earlier ones, or for the caller to read them. */
export interface StreamMemory {
  hasRoomToKeep(bytes: number): boolean;
  count(bytes: number): void;
  give(bytes: number): void;
}

export interface InferStream<Input extends StreamInput = StreamInput> {
  input(input: Input): void;
  /** There will be no further input. */
  endInput(): void;
  /** The caller accepts this many more outputs. */
  grant(outputs: number): void;
  /** Cancels the requests in flight; they are answered as cancelled. */
  cancel(reason: CancelReason): void;
  /** Takes no further input; ends when the inputs it has are answered. */
  drain(): void;
  /** The caller is gone: cancels all requests and releases all outputs. */
  abandon(): void;
}

/** What an edge opens a stream with. */
export interface StreamOptions<Input extends StreamInput = StreamInput> {
  readonly limits: StreamWindowLimits;
  readonly memory: StreamMemory;
  readonly listener: StreamListener<Input>;
}
