/** What the data plane asks about names that do not say everything: labels, splits and shadows. The catalogue implements it. */

/** A model and the version that was meant; an empty one: the highest that is ready. */
export interface ResolvedModel {
  readonly model: string;
  readonly version: string;
}

/** A version that gets copies of a part of the requests. */
export interface ShadowedVersion {
  readonly version: string;
  /** In (0, 100]. */
  readonly percent: number;
}

export interface ModelNames {
  /** False: the name is a model's own, and nothing is to be decided about its version. */
  isResolvable(name: string): boolean;
  /**
   * `draw` gives the number from 0 to below 1 that decides where a split decides. Throws `invalid-request` for a name that
   * contradicts itself or the version beside it, `unknown-model` for a label that does not exist.
   */
  resolve(name: string, version: string, draw: () => number): ResolvedModel;
  /** Versions that get copies of the requests of a model; none for most. */
  shadowsOf(model: string): readonly ShadowedVersion[];
  readyVersions(name: string): readonly string[];
}
