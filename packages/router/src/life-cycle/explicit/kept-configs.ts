import { createHash } from 'node:crypto';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import { fingerprintOf } from '../reading/fingerprint.ts';
import type { SavedLoad } from './saved-loads.ts';

/**
 * Configurations that came with loads. As in Triton, a later load without one keeps it, until the model is unloaded,
 * another one comes, or the model's files in the repository change.
 */
export class KeptConfigs {
  readonly #loads = new Map<string, SavedLoad>();

  note(name: string, load: SavedLoad): void {
    if (load.config === undefined || load.folder !== undefined) this.#loads.delete(name);
    else this.#loads.set(name, load);
  }

  forget(name: string): void {
    this.#loads.delete(name);
  }

  /** The load to repeat for a model that is now at `location`; undefined: its own files count. */
  async takeFor(name: string, location: ModelLocation | undefined): Promise<SavedLoad | undefined> {
    const load = this.#loads.get(name);
    if (load === undefined || location === undefined) return undefined;
    return (await fingerprintHashOf(location)) === load.print ? load : undefined;
  }
}

/** Small enough for the metadata store, however many files there are. */
export async function fingerprintHashOf(location: ModelLocation): Promise<string> {
  return createHash('sha256')
    .update((await fingerprintOf(location)).text)
    .digest('hex');
}
