/** Models that the index lists although they are no longer served. Names come with requests, so their number is limited. */
export const unloadedModelsMax = 1000;

/** Versions that were served and have been unloaded, for the index. Beyond `modelsMax` the oldest are forgotten. */
export class UnloadedModels {
  readonly #modelsMax: number;
  readonly #versions = new Map<string, readonly string[]>();

  constructor(modelsMax = unloadedModelsMax) {
    this.#modelsMax = modelsMax;
  }

  /** By model. */
  get versions(): ReadonlyMap<string, readonly string[]> {
    return this.#versions;
  }

  /** Returns the model that is forgotten for it, if one is. */
  note(name: string, versions: readonly string[]): readonly string[] {
    // Set again, so that it is the last to be forgotten.
    this.#versions.delete(name);
    this.#versions.set(name, versions);
    const [first] = this.#versions.keys();
    if (first === undefined || this.#versions.size <= this.#modelsMax) return [];
    this.#versions.delete(first);
    return [first];
  }

  /** It is served again. */
  forget(name: string): void {
    this.#versions.delete(name);
  }
}
