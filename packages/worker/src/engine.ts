/** The seam between the worker host and whatever computes: an engine loads a model into a session that runs batches. */
import {
  type BatchTensor,
  type CancelSignal,
  InferenceError,
  type LoadSpec,
  type Region,
  type Tensor,
} from '@millrace/protocol';

export interface RunRequest {
  readonly inputs: readonly BatchTensor[];
  /** Positions of the wanted outputs, as `LoadSpec.outputs` lists them. */
  readonly outputs: readonly number[];
  /** Memory for the outputs, laid where the router will read it. */
  lend(bytes: number): Region;
  /** Only for models whose `LoadSpec.concurrency` is given. */
  readonly calls?: RunCalls;
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
  /** In the order they were asked for, as views of `region`. */
  readonly outputs: readonly BatchTensor[];
  readonly region: Region;
}

/** A run failed, and whatever is run in this process after it will fail too: a process that is a worker ends by it. */
export class ProcessSpoiled extends InferenceError {
  constructor(message: string, options?: ErrorOptions) {
    super('inference-failed', message, options);
    this.name = 'ProcessSpoiled';
  }
}

export interface Session {
  /** Runs on the calling thread. Rejects with an `InferenceError`; the session stays usable, unless it is `ProcessSpoiled`. */
  run(request: RunRequest): Promise<RunResult>;
  unload(): Promise<void>;
}

export interface Engine {
  readonly name: LoadSpec['engine'];
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
