/** A catalogue whose states the test sets. */
import { InferenceError } from '@millrace/protocol';
import { servedModel } from '../../data-plane/testing/models.ts';
import type { ModelView } from '../../model/model-view.ts';
import type { Catalogue, ModelState, ModelStatus } from '../catalogue.ts';

export class CatalogueDouble implements Catalogue {
  readonly #name: string;
  readonly #states = new Map<string, { state: ModelState; reason: string }>();
  readonly #listeners = new Set<() => void>();

  constructor(name: string) {
    this.#name = name;
  }

  set(version: string, state: ModelState, reason = ''): this {
    this.#states.set(version, { state, reason });
    for (const listener of this.#listeners) listener();
    return this;
  }

  remove(version: string): void {
    this.#states.delete(version);
    for (const listener of this.#listeners) listener();
  }

  mustFind(name: string, version: string): ModelView {
    const chosen = version === '' ? this.readyVersions(name).at(-1) : version;
    const known = name === this.#name && chosen !== undefined ? this.#states.get(chosen) : undefined;
    if (known === undefined) throw new InferenceError('unknown-model', `'${name}' version ${version} is not found`);
    if (known.state === 'ready') return servedModel([], [], { name, version: chosen as string }).view;
    throw new InferenceError('model-not-ready', `'${name}' version ${chosen} cannot be served now: ${known.reason}`);
  }

  readyVersions(name: string): readonly string[] {
    if (name !== this.#name) return [];
    return [...this.#states].flatMap(([version, { state }]) => (state === 'ready' ? [version] : []));
  }

  statuses(): readonly ModelStatus[] {
    return [...this.#states].map(([version, status]) => ({ name: this.#name, version, ...status }));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
