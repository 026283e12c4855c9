/** The catalogue as it lives: every model version found, its state, and how a name and a version resolve. */
import { InferenceError } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { Catalogue, ModelState, ModelStatus, ModelView } from './catalogue.ts';

interface Entry {
  readonly model: ServedModel;
  state: ModelState;
  reason: string;
}

export class ServedModels implements Catalogue {
  /** By name, versions descending: the first ready one is the preferred one. */
  readonly #entries = new Map<string, Entry[]>();
  /** The highest ready version of each name. */
  readonly #preferred = new Map<string, ServedModel>();
  readonly #failures: readonly ModelStatus[];
  readonly #listeners = new Set<() => void>();

  constructor(models: readonly ServedModel[], failures: readonly { name: string; version: string; reason: string }[]) {
    for (const model of models) {
      const entries = this.#entries.get(model.view.name) ?? [];
      entries.push({ model, state: 'loading', reason: 'the model is loading' });
      entries.sort((a, b) => Number(b.model.view.version) - Number(a.model.view.version));
      this.#entries.set(model.view.name, entries);
    }
    this.#failures = failures.map((failure) => ({ ...failure, state: 'failed' }));
  }

  mustFind(name: string, version: string): ModelView {
    return this.mustServe(name, version).view;
  }

  mustServe(name: string, version: string): ServedModel {
    const preferred = version === '' ? this.#preferred.get(name) : undefined;
    if (preferred !== undefined) return preferred;
    const entries = this.#entries.get(name);
    if (entries === undefined) {
      const failure = this.#failures.find((status) => status.name === name);
      if (failure !== undefined) throw notReady(name, version, failure.reason);
      throw new InferenceError('unknown-model', `Request for unknown model: '${name}' is not found`);
    }
    if (version === '') throw notReady(name, version, (entries[0] as Entry).reason);
    const entry = entries.find(({ model }) => model.view.version === version);
    if (entry === undefined) {
      const failure = this.#failures.find((status) => status.name === name && status.version === version);
      if (failure !== undefined) throw notReady(name, version, failure.reason);
      throw new InferenceError('unknown-model', `Request for unknown model: '${name}' version ${version} is not found`);
    }
    if (entry.state !== 'ready') throw notReady(name, version, entry.reason);
    return entry.model;
  }

  readyVersions(name: string): readonly string[] {
    const ready = (this.#entries.get(name) ?? []).filter(({ state }) => state === 'ready');
    return ready.map(({ model }) => model.view.version).reverse();
  }

  statuses(): readonly ModelStatus[] {
    const statuses: ModelStatus[] = [];
    for (const [name, entries] of this.#entries) {
      for (const { model, state, reason } of entries) {
        statuses.push({ name, version: model.view.version, state, reason: state === 'ready' ? '' : reason });
      }
    }
    return [...statuses, ...this.#failures].sort(byNameThenVersion);
  }

  /** The model of a listed version; undefined for one that never could be served. */
  takeModel(name: string, version: string): ServedModel | undefined {
    return this.#entries.get(name)?.find(({ model }) => model.view.version === version)?.model;
  }

  isReady(model: ServedModel): boolean {
    return this.#entryOf(model).state === 'ready';
  }

  setState(model: ServedModel, state: ModelState, reason: string): void {
    const entry = this.#entryOf(model);
    entry.state = state;
    entry.reason = reason;
    const { name } = model.view;
    const ready = this.#entries.get(name)?.find((candidate) => candidate.state === 'ready');
    if (ready === undefined) this.#preferred.delete(name);
    else this.#preferred.set(name, ready.model);
    for (const listener of this.#listeners) listener();
  }

  /** Calls back after every change of a state; returns the way to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #entryOf(model: ServedModel): Entry {
    const entry = this.#entries.get(model.view.name)?.find((candidate) => candidate.model === model);
    if (entry === undefined) throw new Error(`model ${model.key} is not in the catalogue`);
    return entry;
  }
}

function notReady(name: string, version: string, reason: string): InferenceError {
  const which = version === '' ? `'${name}'` : `'${name}' version ${version}`;
  return new InferenceError('model-not-ready', `Request for model ${which} cannot be served now: ${reason}`);
}

function byNameThenVersion(a: ModelStatus, b: ModelStatus): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.version) - Number(b.version);
}
