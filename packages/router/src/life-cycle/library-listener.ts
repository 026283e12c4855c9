import type { ConfigProblem } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { FleetListener } from '../dispatch/worker-fleet.ts';
import type { ModelFailure } from '../model/model-definition.ts';

export interface LoadFailure {
  readonly context: string;
  readonly reason: string;
  /** What served before goes on. */
  readonly isOldServing: boolean;
  /** Undefined: it is tried again when its files change, or when somebody asks for it. */
  readonly retryInMs: number | undefined;
}

/** What the library tells whoever watches it: the log, the metrics, the start-up screen. */
export interface LibraryListener extends FleetListener {
  /** The model takes requests from now on. */
  modelReady(model: ServedModel): void;
  /** It takes none, and why. */
  modelFailed(model: ServedModel, reason: string): void;
  /** It was unloaded to make room, and comes back on demand. */
  modelEvicted(model: ServedModel): void;
  /** Another revision of it, or another version, has taken its place, or it is wanted no more: it finishes what it has. */
  modelRetired(model: ServedModel, why: 'replaced' | 'unwanted'): void;
  /** A run shared by several requests gave an answer that could not be divided: its requests run alone from now on. */
  sharingStopped(model: ServedModel, reason: string): void;
  /** Nothing of the version is left. */
  modelForgotten(name: string, version: string): void;
  loadStarted(context: string): void;
  loadFailed(failure: LoadFailure): void;
  /** A context came back for those who waited, the first of them for so long. */
  demandLoaded(context: string, waitMs: number): void;
  /** What is in memory by context, as measured, and all of it together. */
  memoryMeasured(models: readonly { readonly model: ServedModel; readonly bytes: number }[], totalBytes: number): void;
  /** A model was read anew. Versions that cannot be read any more, and are served on as they were, are named. */
  modelRead(servedOn: readonly ModelFailure[]): void;
  /** Something in the repository is not as it should be. */
  repositoryWarned(warning: ConfigProblem): void;
}

function ignore(): void {}

/** For programs that want to hear of nothing, or of a few things. */
export const silentLibraryListener: LibraryListener = {
  modelReady: ignore,
  modelFailed: ignore,
  modelEvicted: ignore,
  modelRetired: ignore,
  sharingStopped: ignore,
  modelForgotten: ignore,
  modelLoaded: ignore,
  modelShortOfWorker: ignore,
  loadStarted: ignore,
  loadFailed: ignore,
  demandLoaded: ignore,
  memoryMeasured: ignore,
  modelRead: ignore,
  repositoryWarned: ignore,
  workerStarted: ignore,
  workerReady: ignore,
  workerStopping: ignore,
  workerGone: ignore,
};
