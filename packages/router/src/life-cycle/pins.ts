/** Which versions an operator pinned: they are never unloaded for the memory budget. Owns the records in the store. */
import type { MetadataStore } from '@millrace/store';

const prefix = 'pins/';

export class Pins {
  readonly #store: MetadataStore;
  /** As `model/version`, like the keys in the store. */
  readonly #pinned = new Set<string>();

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  /** Reads the pins of earlier runs. */
  async restore(): Promise<void> {
    for (const { key } of await this.#store.list(prefix)) this.#pinned.add(key.slice(prefix.length));
  }

  has(model: string, version: string): boolean {
    return this.#pinned.has(`${model}/${version}`);
  }

  async set(model: string, version: string, isPinned: boolean): Promise<void> {
    const pin = `${model}/${version}`;
    if (isPinned) await this.#store.put(`${prefix}${pin}`, new Uint8Array());
    else await this.#store.remove(`${prefix}${pin}`);
    if (isPinned) this.#pinned.add(pin);
    else this.#pinned.delete(pin);
  }
}
