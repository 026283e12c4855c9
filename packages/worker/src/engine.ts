/** The interface between the worker host and engines: an engine loads a model into a session that runs batches. */
import {
  type BatchTensor,
  type CancelSignal,
  type EngineName,
  type GeneratedUsage,
  type GenerationLoad,
  type GeneratorProbe,
  InferenceError,
  type LoadSpec,
  type Tensor,
} from '@millrace/protocol';

export interface RunRequest {
  /** Shapes are as callers see them (`TensorSpec.shape`). Optional inputs may be missing. */
  readonly inputs: readonly BatchTensor[];
  /** Positions of the requested outputs in `LoadSpec.outputs`. */
  readonly outputs: readonly number[];
  readonly memory: OutputMemory;
  /** Only for models whose `LoadSpec.concurrency` is set. */
  readonly calls?: RunCalls;
}

/** Smaller outputs are copied: their values could equal the sentinel of unwritten memory too often. */
export const inPlaceBytesMin = 4;

/**
 * Memory for the outputs of one run, which the router will read. The host owns it: it releases the memory of a run that fails, and fails
 * a run of which a part was not written.
 */
export interface OutputMemory {
  /**
   * One part for each requested output, in their order, with the given sizes in bytes. The engine writes them itself, or by `write` and `fill`.
   * Parts that were laid out before are released and must not be used any more.
   */
  layOut(sizes: readonly number[]): readonly Uint8Array[];
  /** Copies an output to its part, which has the same size. */
  write(part: number, bytes: Uint8Array): void;
  /** For outputs that have to be encoded: `write` must write every byte of the part. */
  fill(part: number, write: (target: Uint8Array) => void): void;
  /** Whether the engine has written the part. */
  isWritten(part: number): boolean;
  /**
   * Instead of `layOut` and `write`, for outputs that are complete and in memory of their own: the parts, which may be that memory. It must
   * not change before the outputs are sent.
   */
  give(outputs: readonly Uint8Array[]): readonly Uint8Array[];
}

/** What a concurrent run may use while it runs. */
export interface RunCalls {
  /** Fires when nobody waits for the batch any more. */
  readonly signal: CancelSignal;
  /** Calls another model. The outputs are copies that the caller may keep. Rejects with an `InferenceError` only. */
  call(request: ModelCall): Promise<readonly Tensor[]>;
}

export interface ModelCall {
  readonly model: string;
  /** Empty: the version the model prefers. */
  readonly version: string;
  readonly inputs: readonly Tensor[];
  /** Empty: all. */
  readonly outputs: readonly string[];
  /** Infinity: no limit other than that of the batch. */
  readonly timeoutMs: number;
  readonly signal: CancelSignal;
}

export interface RunResult {
  /** In the requested order; the data of each is the beginning of its part of the memory. */
  readonly outputs: readonly BatchTensor[];
  /** Of an answer of a generator, which is one token. */
  readonly usage?: GeneratedUsage;
}

/** A run failed in a way that makes every later run in this process fail too: a worker process exits. */
export class ProcessSpoiled extends InferenceError {
  constructor(message: string, options?: ErrorOptions) {
    super('inference-failed', message, options);
    this.name = 'ProcessSpoiled';
  }
}

/** The request of a run that answers in steps. */
export type SteppedRunRequest = Omit<RunRequest, 'memory'>;

/** A run that gives any number of answers. The host requests the next one only when the router has granted credit for it. */
export interface SteppedRun {
  /**
   * The next answer, written to `memory`; undefined: there are no more, and the run has ended. Not called again before it
   * has resolved. Rejects with an `InferenceError`, which ends the run.
   */
  step(memory: OutputMemory): Promise<RunResult | undefined>;
  /** Instead of `step`, where nothing has to be waited for once the next answer is there: that saves a promise for each. */
  readonly pulled?: PulledRun | undefined;
  /** No more answers are needed. Called at most once, not after the run has ended by itself; a `step` may be in progress. */
  end(): void;
}

export interface PulledRun {
  /** The next answer, as `layOut` takes it. Rejects with anything. */
  next(): Promise<unknown>;
  /** What `step` would have resolved with; it is sent before anything else runs. Throws an `InferenceError`. */
  layOut(given: unknown, memory: OutputMemory): RunResult | undefined;
  /** For what `next` rejected with: the error that `step` would have rejected with. */
  failureFrom(error: unknown): InferenceError;
}

export interface Session {
  /** Runs on the calling thread. Rejects with an `InferenceError`; the session stays usable, unless it is `ProcessSpoiled`. */
  run(request: RunRequest): Promise<RunResult>;
  /** The same at once, for a process that does nothing else. Throws what `run` rejects with. */
  runNow?(request: RunRequest): RunResult;
  /** For models whose `LoadSpec.isDecoupled` is set, instead of `run`. */
  begin?(request: SteppedRunRequest): SteppedRun;
  /** Of a generator: what was found out at the load, to be kept for the next one. */
  readonly probe?: GeneratorProbe | undefined;
  /** Of a generator: how much it has to do now. */
  readonly generationLoad?: (() => GenerationLoad) | undefined;
  unload(): Promise<void>;
}

export interface Engine {
  readonly name: EngineName;
  /**
   * Its runs wait for something other than the processor, so that messages must be read meanwhile. A worker program with
   * such an engine reads messages by the event loop, which slows every batch: give it a program of its own, beside main.ts.
   */
  readonly isConcurrent?: boolean;
  /** Loads and warms up. Rejects with an error whose message says what the operator can do. */
  load(spec: LoadSpec): Promise<Session>;
}

/**
 * The model is malformed, needs what the engine does not have, or does not fit its configuration: until its files or its
 * configuration change, no load can succeed. Any other error may pass, so that the load is tried again.
 */
export class UnloadableModel extends Error {}
