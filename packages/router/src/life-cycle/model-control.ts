/** Lists, loads, unloads and pins models. Rejects with an `InferenceError` only. */
import type { ContextStatus } from './context-statuses.ts';
import type { LoadOverrides } from './explicit/load-overrides.ts';
import type { IndexEntry } from './repository-index.ts';

export interface ModelControl {
  /** Every model of the repository, loaded or not, as in Triton's repository index. */
  index(): Promise<readonly IndexEntry[]>;
  /** Loads the model, or reloads it beside the old one; resolves when its versions are served. On failure the old ones stay. */
  load(model: string, overrides?: LoadOverrides): Promise<void>;
  /** Resolves when the model is no longer served; accepted requests are still answered. */
  unload(model: string, options?: { readonly isWithDependents?: boolean }): Promise<void>;
  /** A pinned version is never unloaded for the memory budget. */
  setPinned(model: string, version: string, isPinned: boolean): Promise<void>;
  contexts(): readonly ContextStatus[];
}
