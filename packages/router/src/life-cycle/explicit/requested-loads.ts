/**
 * Records what was requested: which models by name, with which configuration and files, and what was unloaded since.
 * What was requested by name is in the store, so that it is loaded again after a restart.
 */

import type { ModelLocations } from '../reading/repository-reader.ts';
import { fingerprintHashOf, KeptConfigs } from './kept-configs.ts';
import { takeLocation } from './load-location.ts';
import type { OverrideFiles } from './override-files.ts';
import type { SavedLoad, SavedLoads } from './saved-loads.ts';
import { UnloadedModels } from './unloaded-models.ts';

export class RequestedLoads {
  readonly #saved: SavedLoads;
  readonly #files: OverrideFiles;
  readonly #configs = new KeptConfigs();
  readonly #unloaded = new UnloadedModels();
  /** Models that were requested by name; the others were loaded along with an ensemble. */
  readonly #asked = new Set<string>();

  constructor(saved: SavedLoads, files: OverrideFiles) {
    this.#saved = saved;
    this.#files = files;
  }

  /** Versions of models that were served and were unloaded since. */
  get unloaded(): ReadonlyMap<string, readonly string[]> {
    return this.#unloaded.versions;
  }

  isAsked(name: string): boolean {
    return this.#asked.has(name);
  }

  /**
   * What to load at the start, by model: what was requested before a restart, and `names`. What was unloaded is left out of them
   * where one process takes the place of another; whoever starts a server anew gets what its configuration says.
   */
  async restore(names: readonly string[], isRestart: boolean): Promise<ReadonlyMap<string, SavedLoad>> {
    const loads = new Map<string, SavedLoad>();
    for (const [name, { folder, ...load }] of await this.#saved.loads()) {
      loads.set(name, folder === undefined ? load : { ...load, folder: this.#files.folderOf(folder) });
    }
    await this.#files.keepOnly(new Set([...loads.values()].flatMap(({ folder }) => folder ?? [])));
    const unloaded = await this.#saved.unloads();
    for (const [name, versions] of unloaded) {
      if (isRestart) this.#unloaded.note(name, versions);
      else await this.#saved.removeUnload(name);
    }
    const isLeftOut = (name: string): boolean => isRestart && unloaded.has(name);
    for (const name of names) if (!loads.has(name) && !isLeftOut(name)) loads.set(name, {});
    for (const [name, load] of loads) {
      this.#asked.add(name);
      this.#configs.note(name, load);
    }
    return loads;
  }

  /** What a load without files means: the configuration that comes with it, else the one kept, else the file's. */
  async loadFor(name: string, config: string | undefined, locations: ModelLocations): Promise<SavedLoad> {
    const location = takeLocation(locations, name);
    if (config === undefined) return (await this.#configs.takeFor(name, location)) ?? {};
    return location === undefined ? { config } : { config, print: await fingerprintHashOf(location) };
  }

  /** The model is loaded. A model that is only a step of an ensemble is not saved: it is loaded with it after a restart. */
  async noteLoaded(name: string, load: SavedLoad, isAsked: boolean): Promise<void> {
    if (isAsked) this.#asked.add(name);
    if (this.#asked.has(name)) {
      // Files that are removed with the server must not be expected after a restart.
      if (load.folder === undefined || this.#files.isKept) await this.#saved.putLoad(name, this.#toSave(load));
      else await this.#saved.removeLoad(name);
    }
    this.#configs.note(name, load);
    if (!this.#unloaded.versions.has(name)) return;
    this.#unloaded.forget(name);
    await this.#saved.removeUnload(name);
  }

  async forget(name: string): Promise<void> {
    await this.#saved.removeLoad(name);
    this.#asked.delete(name);
    this.#configs.forget(name);
  }

  async noteUnloaded(name: string, versions: readonly string[]): Promise<void> {
    const [forgotten] = this.#unloaded.note(name, versions);
    await this.#saved.putUnload(name, versions);
    if (forgotten !== undefined) await this.#saved.removeUnload(forgotten);
  }

  #toSave({ folder, ...load }: SavedLoad): SavedLoad {
    return folder === undefined ? load : { ...load, folder: this.#files.nameOf(folder) };
  }
}
