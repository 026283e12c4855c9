/** What edges and the data plane may know about models: which exist, their states, and their inputs and outputs. */
import type { VersionState } from '@millrace/core';
import type { ModelView } from '../model/model-view.ts';

/** `evicted`: unloaded to keep to the memory budget; the next request loads it again, so it counts as ready. */
export type ModelState = VersionState;

export interface ModelStatus {
  readonly name: string;
  /** Empty when the model failed before it had a version. */
  readonly version: string;
  readonly state: ModelState;
  /** Why it is not ready; empty when it is. */
  readonly reason: string;
  /** Why its replacement cannot be served; it is ready and continues to serve unchanged. */
  readonly replacementReason?: string;
  /** It loads or has failed, and the server is ready nevertheless: it was added later, or another version serves. */
  readonly isTolerated?: boolean;
  /** It failed, and has never taken a request. */
  readonly hasNeverServed?: boolean;
}

/** Why a version that is on disk is not served, and what to do; for callers and for the index. */
export const unchosenText =
  'it is in the repository, but the version_policy of the model does not choose it; add it there to have it served';

export interface Catalogue {
  /**
   * The named version, or for an empty version the one most requests go to: the highest ready one, or the largest share of a split. Throws an
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

/** Readiness of the server and its models, with notification when it may have changed. */
export interface WatchedHealth extends Health {
  /** The server has been told to stop. */
  readonly isEnding: boolean;
  /** Calls back after every change; returns the way to stop listening. */
  onChange(listener: () => void): () => void;
}
