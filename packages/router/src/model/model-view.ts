import type { GenerationBounds } from '@millrace/generation';
import type { TensorSpec } from '@millrace/protocol';
import type { BatchShaping } from './batch-shaping.ts';
import type { RunSharing } from './run-sharing.ts';

export type ReadonlyJsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly ReadonlyJsonValue[]
  | ReadonlyJsonObject;

export interface ReadonlyJsonObject {
  readonly [key: string]: ReadonlyJsonValue;
}

/** A free size that several axes of the inputs share, because the graph gives them the same name. */
export interface SharedSize {
  readonly name: string;
  readonly axes: readonly { readonly input: number; readonly axis: number }[];
}

/** The output of a step that is an input of the next; the first step gets zeros. */
export interface StreamStatePair {
  readonly input: string;
  readonly output: string;
}

/** One version of a model as its clients see it. */
export interface ModelView {
  readonly name: string;
  readonly version: string;
  /** As Triton names it, for instance `onnxruntime_onnx`. */
  readonly platform: string;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Dimension 0 of every tensor is the batch. */
  readonly isBatched: boolean;
  /** The most rows that one request may have; 1 when not batched. Where `max_batch_size` was guessed, larger requests are split. */
  readonly rowsMax: number;
  /** Whether callers share its runs; absent for models without a graph, for which the configuration alone decides. */
  readonly sharing?: RunSharing;
  /** Class names by output, for answers that name classes. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** How requests of unequal shapes share a batch; absent: they never do. */
  readonly shaping?: BatchShaping;
  /** Its engine takes text where others take bytes: elements of BYTES inputs must be UTF-8. Absent: any bytes. */
  readonly takesTextOnly?: boolean;
  /** It gives any number of answers to a request, also none. */
  readonly isDecoupled?: true;
  /** It generates text: parameters of a request become its input `sampling_parameters`, and unary calls get the whole text. */
  readonly isGenerator?: true;
  /** Of a generator: which parameters a stream may be opened with. */
  readonly generationBounds?: GenerationBounds;
  /** Tensors that carry the state of a stream from one step to the next; absent: its streams have none. */
  readonly streamStates?: readonly StreamStatePair[];
  /** Of a decoupled model: it gives the same answers when a request is run again, so that its streams can be resumed. */
  readonly isResumable?: true;
  /** An operator of the graph that crashes the engine's process on tensors without rows: such requests are refused. */
  readonly emptyHazard?: string;
  /** Sizes that the graph declares to be equal; absent: none. */
  readonly sharedSizes?: readonly SharedSize[];
  /** The completed model configuration in Triton's JSON form. */
  readonly config: ReadonlyJsonObject;
}
