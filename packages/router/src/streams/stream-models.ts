/** Finds the model version of a stream, and pins it: by its files, which a later process must find unchanged. */
import type { Tensor } from '@millrace/protocol';
import type { PinnedModel } from '../data-plane/infer.ts';
import type { Exactness } from './exactness.ts';
import type { StreamModel } from './stream-model.ts';

/** A version that a stream holds on to. */
export interface StreamPin {
  readonly model: StreamModel;
  readonly revision: PinnedModel;
  /** Of its files. */
  readonly digest: string;
  /** What the probe of the version found; undefined: its streams have no state, or it was found before they were restored. */
  readonly exactness: Exactness | undefined;
  /** Throws `invalid-request` for inputs of a step that the model does not take, as requests are checked; the sequence is named in it. */
  check(inputs: readonly Tensor[], sequence: number): void;
  /** A newer revision of the version may take this one's place. May be called more than once. */
  release(): void;
}

/** Instead of a digest: other files are there by now, so that nobody will ever find those that the stream is pinned to. */
export const replacedFiles = 'replaced';

/** Whether a version that is found has the files that a stream is pinned to, by their digests. */
export function hasSameFiles(pinned: string, found: string): boolean {
  return pinned === found && pinned !== replacedFiles;
}

export interface StreamModels {
  /**
   * Resolves a context to a version, now or after a load. `onRetired`: the version was replaced or unloaded, and stays only for
   * its streams. Rejects with an `InferenceError`.
   */
  pin(context: string, onRetired: () => void): Promise<StreamPin>;
  /**
   * The version that a stream was pinned to by an earlier process, or whose revision was replaced since; undefined: it is not
   * there any more. Rejects with an `InferenceError` when that cannot be told now.
   */
  pinAgain(model: string, version: string, onRetired: () => void): Promise<StreamPin | undefined>;
  /** Calls back once, when the version begins to take requests; returns a function that cancels. */
  onServed(model: string, version: string, callback: () => void): () => void;
}
