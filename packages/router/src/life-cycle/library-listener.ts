import type { ConfigProblem } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { ModelFailure } from '../model/model-definition.ts';
import type { RevisionListener } from './revisions/revision-listener.ts';

/** What the library reports to whoever watches it: the log, the metrics, the start-up screen. */
export interface LibraryListener extends RevisionListener {
  /** A run shared by several requests gave an answer that could not be divided: its requests run alone from now on. */
  sharingStopped(model: ServedModel, reason: string): void;
  /** A model was read again. Versions that cannot be read any more, and are served on as they were, are named. */
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
