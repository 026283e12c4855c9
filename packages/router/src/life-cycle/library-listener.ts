import type { ConfigProblem } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { ModelFailure } from '../model/model-definition.ts';
import type { RevisionListener } from './revisions/revision-listener.ts';

/** Events of the library, for the log, the metrics and the start-up screen. */
export interface LibraryListener extends RevisionListener {
  /** A shared run gave an answer that could not be divided among its requests: the model's requests run alone from now on. */
  sharingStopped(model: ServedModel, reason: string): void;
  /** A model was read again. Versions that can no longer be read, and continue to be served unchanged, are named. */
  modelRead(servedOn: readonly ModelFailure[]): void;
  /** How many processes wait for a model now. */
  standbysChanged(processes: number): void;
  /** Something in the repository is wrong. */
  repositoryWarned(warning: ConfigProblem): void;
}

function ignore(): void {}

/** A listener that ignores every event; programs override those that they need. */
export const silentLibraryListener: LibraryListener = {
  modelReady: ignore,
  modelFailed: ignore,
  modelEvicted: ignore,
  modelRetired: ignore,
  sharingStopped: ignore,
  modelForgotten: ignore,
  modelLoaded: ignore,
  modelShortOfWorker: ignore,
  modelMoved: ignore,
  modelSeparated: ignore,
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
  standbysChanged: ignore,
};
