/** What edges and the data plane may know of the models: who is there, in which state, and what they take and give. */
import type { TensorSpec } from '@millrace/protocol';
import type { BatchShaping } from '../data-plane/batch-shaping/shaping.ts';
import type { RunSharing } from './run-sharing.ts';

export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
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
  /** The most rows one request may bring; 1 when not batched. More are split where `max_batch_size` was guessed. */
  readonly rowsMax: number;
  /** Who shares its runs; absent for models without a graph, whose configuration alone decides. */
  readonly sharing?: RunSharing;
  /** Class names by output, for answers that name classes. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** How requests of unequal shapes share a batch; absent: they do not. */
  readonly shaping?: BatchShaping;
  /** An operator of the graph that ends the engine's process where a tensor has no rows: such requests are refused. */
  readonly emptyHazard?: string;
  /** The completed model configuration in Triton's JSON form. */
  readonly config: JsonObject;
}

/** `evicted`: not in memory now, for the budget; the next request has it loaded, so it counts as ready. */
export type ModelState = 'loading' | 'ready' | 'evicted' | 'unloading' | 'failed';

export interface ModelStatus {
  readonly name: string;
  /** Empty when the model failed before it had a version. */
  readonly version: string;
  readonly state: ModelState;
  /** Why it is not ready; empty when it is. */
  readonly reason: string;
  /** Why what was to take its place cannot be served; it is ready and serves on as it was. */
  readonly replacementReason?: string;
  /** It failed while the model goes on being served as it was before: no reason to call the server unready. */
  readonly isTolerated?: boolean;
}

export interface Catalogue {
  /**
   * The named version, or for an empty version the one the model prefers (the highest ready one). Throws an
   * `InferenceError`: `unknown-model`, or `model-not-ready` with the reason.
   */
  mustFind(name: string, version: string): ModelView;
  /** Versions of the model that are ready, ascending. */
  readyVersions(name: string): readonly string[];
  statuses(): readonly ModelStatus[];
}

/** Whether the process is up, and whether it should be sent traffic: every model ready and no drain under way. */
export interface Health {
  readonly isLive: boolean;
  readonly isReady: boolean;
}

/** Readiness that tells when it may have changed, of the server or of any model. */
export interface WatchedHealth extends Health {
  /** The server has been told to stop. */
  readonly isEnding: boolean;
  /** Calls back after every change; returns the way to stop listening. */
  onChange(listener: () => void): () => void;
}
