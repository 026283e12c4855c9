/**
 * The catalogue at run time: every model version that is served or should be, and how a name and a version resolve. The
 * states are decided by the keeper (packages/core/src/life-cycle/keeper.ts) and only shown here.
 */
import type { VersionName, VersionStatus } from '@millrace/core';
import { InferenceError, quote } from '@millrace/protocol';
import type { KnownModels } from '../data-plane/known-models.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { ModelView } from '../model/model-view.ts';
import { compareVersions } from '../model/version-name.ts';
import type { Catalogue, ModelState, ModelStatus } from './catalogue.ts';
import type { PathRedaction } from './path-redaction.ts';
import { UnservedModels } from './unserved-models.ts';

/** One version of a model, with the revision that currently represents it. */
interface VersionEntry {
  readonly version: string;
  /** Undefined: none of its files could ever be read. */
  model: ServedModel | undefined;
  state: ModelState;
  status: VersionStatus;
}

interface NameEntry {
  readonly versions: Map<string, VersionEntry>;
  /**
   * The highest version that takes requests, at once or after it was loaded for them. At a start there is none while a higher
   * one is loaded for the first time: requests wait for that, lest a restart answers with an old version for a while.
   */
  preferred: VersionEntry | undefined;
}

export class ServedModels implements Catalogue, KnownModels {
  readonly #names = new Map<string, NameEntry>();
  readonly #listeners = new Set<() => void>();
  /** Reasons are kept in full for the log; this removes paths from the texts that callers see. */
  readonly redactPaths: PathRedaction;
  /** What refusals of unknown models and versions say beside that. */
  readonly unserved = new UnservedModels();

  constructor(redactPaths: PathRedaction = (text) => text) {
    this.redactPaths = redactPaths;
  }

  /** The model that can take a request at once. Undefined: none can; `mustKnow` says why. */
  takeServed(name: string, version: string): ServedModel | undefined {
    const named = this.#names.get(name);
    if (named === undefined) return undefined;
    const entry = version === '' ? named.preferred : named.versions.get(version);
    return entry !== undefined && entry.state === 'ready' ? entry.model : undefined;
  }

  mustFind(name: string, version: string): ModelView {
    const model = this.#takeAvailable(name, version);
    if (model === undefined) throw this.#refusalOf(name, version);
    return model.view;
  }

  /** The version that takes the request, if necessary after loading it. */
  mustKnow(name: string, version: string): ServedModel {
    const model = this.#takeAvailable(name, version) ?? this.#takeAwaited(name, version);
    if (model === undefined) throw this.#refusalOf(name, version);
    return model;
  }

  /** The view of the version that takes the request; undefined: `mustKnow` says why none does. */
  takeView(name: string, version: string): ModelView | undefined {
    return (this.#takeAvailable(name, version) ?? this.#takeAwaited(name, version))?.view;
  }

  #takeAvailable(name: string, version: string): ServedModel | undefined {
    const named = this.#names.get(name);
    const entry = version === '' ? named?.preferred : named?.versions.get(version);
    return entry !== undefined && isAvailable(entry) ? entry.model : undefined;
  }

  #takeAwaited(name: string, version: string): ServedModel | undefined {
    const named = this.#names.get(name);
    const highest = highestOf(named, isHopeful) ?? highestOf(named, isReadable);
    const entry = version === '' ? highest : named?.versions.get(version);
    return entry?.status.isAwaited === true ? entry.model : undefined;
  }

  #refusalOf(name: string, version: string): InferenceError {
    const named = this.#names.get(name);
    if (named === undefined) {
      return new InferenceError('unknown-model', this.unserved.unknownModelText(name, this.#names.keys()));
    }
    const unreadable = highestOf(named, (entry) => !isReadable(entry));
    const readable = highestOf(named, isReadable);
    // What cannot be read says more about a model than what is still loading.
    const other = version === '' ? (unreadable ?? readable) : readable === undefined ? unreadable : undefined;
    const entry = named.versions.get(version) ?? other;
    if (entry !== undefined) return this.#notReady(name, version, entry.status.reason);
    return new InferenceError('unknown-model', this.unserved.unknownVersionText(name, version));
  }

  #notReady(name: string, version: string, reason: string): InferenceError {
    const which = version === '' ? quote(name) : `${quote(name)} version ${version}`;
    const why = this.redactPaths(reason);
    return new InferenceError('model-not-ready', `Request for model ${which} cannot be served now: ${why}`);
  }

  readyVersions(name: string): readonly string[] {
    const versions: string[] = [];
    for (const entry of this.#names.get(name)?.versions.values() ?? []) {
      if (isAvailable(entry)) versions.push(entry.version);
    }
    return versions.sort(compareVersions);
  }

  statuses(): readonly ModelStatus[] {
    const statuses: ModelStatus[] = [];
    for (const [name, { versions }] of this.#names) {
      for (const { version, status } of versions.values()) {
        const { state, reason, replacementReason, isTolerated, hasServed } = status;
        statuses.push({
          name,
          version,
          state,
          reason,
          ...(replacementReason === '' ? {} : { replacementReason }),
          ...(isTolerated ? { isTolerated } : {}),
          ...(state === 'failed' && !hasServed ? { hasNeverServed: true } : {}),
        });
      }
    }
    return statuses.sort(byNameThenVersion);
  }

  /** The model of a listed version; undefined for one that never could be served. */
  takeModel(name: string, version: string): ServedModel | undefined {
    return this.#names.get(name)?.versions.get(version)?.model;
  }

  /** Shows the state of a version, and the model that represents it from now on. */
  show({ model: name, version }: VersionName, status: VersionStatus, model: ServedModel | undefined): void {
    const named = this.#names.get(name) ?? { versions: new Map(), preferred: undefined };
    this.#names.set(name, named);
    const entry = named.versions.get(version);
    if (entry === undefined) named.versions.set(version, { version, model, state: status.state, status });
    else Object.assign(entry, { model, state: status.state, status });
    this.#changed(named);
  }

  /** Nothing is known of the version any more. */
  remove({ model: name, version }: VersionName): void {
    const named = this.#names.get(name);
    if (named === undefined) return;
    named.versions.delete(version);
    if (named.versions.size === 0) this.#names.delete(name);
    this.#changed(named);
  }

  /** Calls back after every change of a state; returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(named: NameEntry): void {
    const isMeant =
      named.preferred === undefined ? (entry: VersionEntry) => isAvailable(entry) || isFirstLoad(entry) : isAvailable;
    const highest = highestOf(named, isMeant);
    named.preferred = highest !== undefined && isAvailable(highest) ? highest : undefined;
    for (const listener of this.#listeners) listener();
  }
}

function isAvailable({ state }: VersionEntry): boolean {
  return state === 'ready' || state === 'evicted';
}

function isFirstLoad({ state, status, model }: VersionEntry): boolean {
  return state === 'loading' && status.isAwaited && model !== undefined;
}

/** It can be read, and may come to serve. */
function isHopeful({ state, model }: VersionEntry): boolean {
  return state !== 'failed' && model !== undefined;
}

function isReadable({ model }: VersionEntry): boolean {
  return model !== undefined;
}

function highestOf(
  named: NameEntry | undefined,
  isMeant: (entry: VersionEntry) => boolean = () => true,
): VersionEntry | undefined {
  let highest: VersionEntry | undefined;
  for (const entry of named?.versions.values() ?? []) {
    if (!isMeant(entry)) continue;
    if (highest === undefined || compareVersions(entry.version, highest.version) > 0) highest = entry;
  }
  return highest;
}

function byNameThenVersion(a: ModelStatus, b: ModelStatus): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.version) - Number(b.version);
}
