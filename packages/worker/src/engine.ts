/** The seam between the worker host and whatever computes: an engine loads a model into a session that runs batches. */
import {
  type BatchTensor,
  type CancelSignal,
  type EngineName,
  InferenceError,
  type LoadSpec,
  type Tensor,
} from '@millrace/protocol';

export interface RunRequest {
  /** A shape is as callers see it (`TensorSpec.shape`). An input that may be left out may not be among them. */
  readonly inputs: readonly BatchTensor[];
  /** Positions of the wanted outputs, as `LoadSpec.outputs` lists them. */
  readonly outputs: readonly number[];
  readonly memory: OutputMemory;
  /** Only for models whose `LoadSpec.concurrency` is given. */
  readonly calls?: RunCalls;
}

/** An output of fewer bytes is copied: a value could equal the mark of unwritten memory too often. */
export const inPlaceBytesMin = 4;

/**
 * Memory for the outputs of one run, laid where the router will read it. Its host owns it: it gives back the memory of a run that fails, and
 * answers no run of which a part was not written.
 */
export interface OutputMemory {
  /**
   * One part for each wanted output, in their order, of so many bytes. The engine writes them itself, or has them written by `write` and `fill`.
   * What was laid out before is given back and must not be touched any more.
   */
  layOut(sizes: readonly number[]): readonly Uint8Array[];
  /** Copies an output to its part, which has as many bytes. */
  write(part: number, bytes: Uint8Array): void;
  /** For outputs that have to be encoded: `write` must write every byte of the part. */
  fill(part: number, write: (target: Uint8Array) => void): void;
  /** Whether an engine that was given the part to write has done so. */
  isWritten(part: number): boolean;
}

/** What a run that goes on while others do may ask for meanwhile. */
export interface RunCalls {
  /** Fires when nobody waits for the batch any more. */
  readonly signal: CancelSignal;
  /** Asks another model. The outputs are the caller's own. Rejects with an `InferenceError` only. */
  call(request: ModelCall): Promise<readonly Tensor[]>;
}

export interface ModelCall {
  readonly model: string;
  /** Empty: the version the model prefers. */
  readonly version: string;
  readonly inputs: readonly Tensor[];
  /** Empty: all. */
  readonly outputs: readonly string[];
  /** Infinity: as long as the batch may take. */
  readonly timeoutMs: number;
  readonly signal: CancelSignal;
}

export interface RunResult {
  /** In the order they were asked for, each the beginning of its part of the memory. */
  readonly outputs: readonly BatchTensor[];
}

/** A run failed, and whatever is run in this process after it will fail too: a process that is a worker ends by it. */
export class ProcessSpoiled extends InferenceError {
  constructor(message: string, options?: ErrorOptions) {
    super('inference-failed', message, options);
    this.name = 'ProcessSpoiled';
  }
}

/** What a run that answers step by step is begun with. */
export type SteppedRunRequest = Omit<RunRequest, 'memory'>;

/** A run that gives any number of answers. Its host asks for the next one only when somebody takes it. */
export interface SteppedRun {
  /**
   * The next answer, laid in `memory`; undefined: there was none left, and the run has ended. Not called again before it
   * has resolved. Rejects with an `InferenceError`, which ends the run.
   */
  step(memory: OutputMemory): Promise<RunResult | undefined>;
  /** Nobody wants more of it. Called at most once, not after it has ended by itself; a `step` may be under way. */
  end(): void;
}

export interface Session {
  /** Runs on the calling thread. Rejects with an `InferenceError`; the session stays usable, unless it is `ProcessSpoiled`. */
  run(request: RunRequest): Promise<RunResult>;
  /** For models whose `LoadSpec.isDecoupled` is given, instead of `run`. */
  begin?(request: SteppedRunRequest): SteppedRun;
  unload(): Promise<void>;
}

export interface Engine {
  readonly name: EngineName;
  /**
   * Its runs wait for something but the processor, so that messages must be heard meanwhile. A worker program that has
   * such an engine hears by the event loop, which costs every batch: give it a program of its own, beside main.ts.
   */
  readonly isConcurrent?: boolean;
  /** Loads and warms up. Rejects with an error whose message says what the operator can do. */
  load(spec: LoadSpec): Promise<Session>;
}

/** A model that does not fit its configuration: as long as neither changes, no attempt to load it can succeed. */
export class ModelMismatch extends Error {}
