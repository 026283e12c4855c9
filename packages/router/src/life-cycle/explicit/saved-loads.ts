/** The records of explicit loads and unloads in the metadata store, so that a restart does not undo them. */
import type { MetadataStore } from '@millrace/store';

export interface SavedLoad {
  /** The configuration that came with the load, in its JSON form. */
  readonly config?: string;
  /** The fingerprint of the model's files in the repository when that configuration came. */
  readonly print?: string;
  /** The folder of the files that came with it; the store holds only the name of that folder. */
  readonly folder?: string;
}

const loads = 'loads/';
const unloads = 'unloads/';

export class SavedLoads {
  readonly #store: MetadataStore;

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  /** By model; a record that cannot be read is a load without overrides. */
  async loads(): Promise<ReadonlyMap<string, SavedLoad>> {
    const saved = new Map<string, SavedLoad>();
    for (const { key, value } of await this.#store.list(loads)) saved.set(key.slice(loads.length), savedFrom(value));
    return saved;
  }

  async putLoad(model: string, load: SavedLoad): Promise<void> {
    await this.#store.put(`${loads}${model}`, Buffer.from(JSON.stringify(load)));
  }

  async removeLoad(model: string): Promise<void> {
    await this.#store.remove(`${loads}${model}`);
  }

  /** By model: the versions that were served and have been unloaded by request. */
  async unloads(): Promise<ReadonlyMap<string, readonly string[]>> {
    const saved = new Map<string, readonly string[]>();
    for (const { key, value } of await this.#store.list(unloads))
      saved.set(key.slice(unloads.length), versionsFrom(value));
    return saved;
  }

  async putUnload(model: string, versions: readonly string[]): Promise<void> {
    await this.#store.put(`${unloads}${model}`, Buffer.from(JSON.stringify(versions)));
  }

  async removeUnload(model: string): Promise<void> {
    await this.#store.remove(`${unloads}${model}`);
  }
}

function savedFrom(value: Uint8Array): SavedLoad {
  try {
    const read = JSON.parse(Buffer.from(value).toString()) as { [field in keyof SavedLoad]?: unknown } | null;
    return {
      ...(typeof read?.config === 'string' ? { config: read.config } : {}),
      ...(typeof read?.print === 'string' ? { print: read.print } : {}),
      ...(typeof read?.folder === 'string' ? { folder: read.folder } : {}),
    };
  } catch {
    return {};
  }
}

function versionsFrom(value: Uint8Array): readonly string[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(value).toString());
    return Array.isArray(read) ? read.filter((version) => typeof version === 'string') : [];
  } catch {
    return [];
  }
}
