/** Resolves names for the data plane: labels, splits and shadows. The catalogue implements it. */

/** A model and the resolved version; an empty version: the highest that is ready. */
export interface ResolvedModel {
  readonly model: string;
  readonly version: string;
}

/** A version that gets copies of a percentage of the requests. */
export interface ShadowedVersion {
  readonly version: string;
  /** In (0, 100]. */
  readonly percent: number;
}

export interface ModelNames {
  /** False: the name is a model's own, and it has no labels, splits or shadows to apply. */
  isResolvable(name: string): boolean;
  /**
   * `draw` returns the number from 0 to below 1 by which a split chooses. Throws `invalid-request` for a name that contradicts
   * itself or the given version, `unknown-model` for a label that does not exist.
   */
  resolve(name: string, version: string, draw: () => number): ResolvedModel;
  /** Versions that get copies of the requests of a model; none for most. */
  shadowsOf(model: string): readonly ShadowedVersion[];
  readyVersions(name: string): readonly string[];
}
