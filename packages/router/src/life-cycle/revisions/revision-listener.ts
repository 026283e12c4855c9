import type { ServedModel } from '../../data-plane/served-model.ts';
import type { FleetListener } from '../../dispatch/fleet-listener.ts';

export interface LoadFailure {
  readonly context: string;
  readonly reason: string;
  /** The previous revision continues to serve. */
  readonly isOldServing: boolean;
  /** Undefined: it is retried when its files change, or when its load is requested. */
  readonly retryInMs: number | undefined;
}

/** Events of revisions: loads, and which of their models take requests. */
export interface RevisionListener extends FleetListener {
  /** The model takes requests from now on. */
  modelReady(model: ServedModel): void;
  /** The model takes no requests, with the reason. */
  modelFailed(model: ServedModel, reason: string): void;
  /** It was unloaded to make room, and is loaded again on demand. */
  modelEvicted(model: ServedModel): void;
  /** Another revision of it, or another version, has replaced it, or it is no longer wanted: it finishes its requests. */
  modelRetired(model: ServedModel, why: 'replaced' | 'unwanted'): void;
  /** Nothing of the version is left. */
  modelForgotten(name: string, version: string): void;
  /** It shared a worker with other models, and gets workers of its own. */
  modelMoved(model: ServedModel, reason: string): void;
  /** Its runs are short, and it moves to a shared worker without models that were never run. */
  modelSeparated(model: ServedModel): void;
  loadStarted(context: string): void;
  loadFailed(failure: LoadFailure): void;
  /** A context was loaded on demand; `waitMs` is how long the first request waited. */
  demandLoaded(context: string, waitMs: number): void;
  /** The measured memory by context, and the total. */
  memoryMeasured(models: readonly { readonly model: ServedModel; readonly bytes: number }[], totalBytes: number): void;
}
