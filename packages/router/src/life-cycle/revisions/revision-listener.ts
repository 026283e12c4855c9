import type { ServedModel } from '../../data-plane/served-model.ts';
import type { FleetListener } from '../../dispatch/fleet-listener.ts';

export interface LoadFailure {
  readonly context: string;
  readonly reason: string;
  /** What served before goes on. */
  readonly isOldServing: boolean;
  /** Undefined: it is tried again when its files change, or when somebody asks for it. */
  readonly retryInMs: number | undefined;
}

/** What is reported about revisions: loads, and which of their models take requests. */
export interface RevisionListener extends FleetListener {
  /** The model takes requests from now on. */
  modelReady(model: ServedModel): void;
  /** It takes none, and why. */
  modelFailed(model: ServedModel, reason: string): void;
  /** It was unloaded to make room, and comes back on demand. */
  modelEvicted(model: ServedModel): void;
  /** Another revision of it, or another version, has replaced it, or it is no longer wanted: it finishes what it has. */
  modelRetired(model: ServedModel, why: 'replaced' | 'unwanted'): void;
  /** Nothing of the version is left. */
  modelForgotten(name: string, version: string): void;
  loadStarted(context: string): void;
  loadFailed(failure: LoadFailure): void;
  /** A context came back for those who waited, the first of them for so long. */
  demandLoaded(context: string, waitMs: number): void;
  /** What is in memory by context, as measured, and all of it together. */
  memoryMeasured(models: readonly { readonly model: ServedModel; readonly bytes: number }[], totalBytes: number): void;
}
