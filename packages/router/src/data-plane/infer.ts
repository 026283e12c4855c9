/** The seam between edges and the data plane: what an edge decodes, and what it gets back to encode. */
import type { CancelSignal, ErrorCode, Tensor } from '@millrace/protocol';

export type ParameterValue = string | number | bigint | boolean;
export type Parameters = ReadonlyMap<string, ParameterValue>;

/** A request as an edge decoded it: well-formed, but not yet checked against any model. */
export interface InferRequest {
  readonly model: string;
  /** Empty: the version the model's policy prefers. */
  readonly version: string;
  /** The caller's own id, echoed in the answer; empty when there is none. */
  readonly id: string;
  readonly parameters: Parameters;
  readonly inputs: readonly Tensor[];
  /** Names of the wanted outputs in the wanted order; empty: all, in the model's order. */
  readonly outputs: readonly string[];
  /** Milliseconds from now; undefined when the caller set none. */
  readonly timeoutMs: number | undefined;
}

export interface InferAnswer {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: readonly Tensor[];
  /** To be called once, when the outputs have been written: their memory is used again after it. */
  release(): void;
}

/** Every edge, the embedding API and the tests stand on this; every feature lives behind it. */
export interface DataPlane {
  /** Validates, queues, batches, runs. Rejects with an `InferenceError` only. */
  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer>;
  /** An edge could not make a request of what it was sent: told here, so that it is counted with the others. */
  noteRefusal(code: ErrorCode): void;
}
