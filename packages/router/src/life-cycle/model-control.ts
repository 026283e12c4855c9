/** Which models are loaded, for whoever may see and change it. Rejects with an `InferenceError` only. */
import type { ContextStatus } from './context-statuses.ts';
import type { LoadOverrides } from './explicit/load-overrides.ts';
import type { IndexEntry } from './repository-index.ts';

export interface ModelControl {
  /** Every model of the repository, loaded or not, as Triton's repository index tells it. */
  index(): Promise<readonly IndexEntry[]>;
  /** Loads the model, or loads it anew beside the old one; resolves when its versions are served. A failure leaves the old ones. */
  load(model: string, overrides?: LoadOverrides): Promise<void>;
  /** Resolves when nothing of the model is served any more; what was accepted is still answered. */
  unload(model: string, options?: { readonly isWithDependents?: boolean }): Promise<void>;
  /** A pinned version is never unloaded for the memory budget. */
  setPinned(model: string, version: string, isPinned: boolean): Promise<void>;
  contexts(): readonly ContextStatus[];
}
