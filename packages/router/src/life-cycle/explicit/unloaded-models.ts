/** Models that the index tells of although they are not served any more; names come with requests, and are never all kept. */
export const unloadedModelsMax = 1000;

/** What was served and was unloaded since, for the index. Of more than `modelsMax` those unloaded first are forgotten. */
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

  note(name: string, versions: readonly string[]): void {
    // Set anew, it is the last to be forgotten.
    this.#versions.delete(name);
    this.#versions.set(name, versions);
    const [first] = this.#versions.keys();
    if (first !== undefined && this.#versions.size > this.#modelsMax) this.#versions.delete(first);
  }

  /** It is served again. */
  forget(name: string): void {
    this.#versions.delete(name);
  }
}
