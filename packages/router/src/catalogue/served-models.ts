/** The catalogue at run time: every model version that is served or should be, and how a name and a version resolve. */
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
  model: ServedModel;
  state: ModelState;
  reason: string;
  isTolerated: boolean;
  /** Its first load is under way, and requests may wait for it. */
  isAwaited: boolean;
  /** Why another revision could not replace it; empty when none failed. */
  replacementReason: string;
  /** It has taken requests before, so a failure is not that of a new model. */
  hasServed: boolean;
}

interface NameEntry {
  readonly versions: Map<string, VersionEntry>;
  /** The highest version that takes requests, at once or after it was loaded for them. */
  preferred: VersionEntry | undefined;
}

export interface ReadFailure {
  readonly version: string;
  readonly reason: string;
}

export class ServedModels implements Catalogue, KnownModels {
  readonly #names = new Map<string, NameEntry>();
  /** By name: what could not be read. Versions that were served before continue to be served. */
  readonly #failures = new Map<string, readonly (ReadFailure & { readonly isTolerated: boolean })[]>();
  readonly #listeners = new Set<() => void>();
  /** Reasons are kept in full for the log; this removes paths from the texts that callers see. */
  readonly redactPaths: PathRedaction;
  /** What refusals of unknown models and versions say beside that. */
  readonly unserved = new UnservedModels();
  #isStarting: boolean = true;

  constructor(redactPaths: PathRedaction = (text) => text) {
    this.redactPaths = redactPaths;
  }

  /** A failure from now on is a failed addition or change; until now it was a failed first load. */
  endStart(): void {
    this.#isStarting = false;
  }

  /** The model that can take a request at once. Undefined: none can; `mustKnow` says why. */
  takeServed(name: string, version: string): ServedModel | undefined {
    const named = this.#names.get(name);
    if (named === undefined) return undefined;
    const entry = version === '' ? named.preferred : named.versions.get(version);
    return entry !== undefined && entry.state === 'ready' ? entry.model : undefined;
  }

  mustFind(name: string, version: string): ModelView {
    const entry = this.#takeAvailable(name, version);
    if (entry === undefined) throw this.#refusalOf(name, version);
    return entry.model.view;
  }

  /** The version that takes the request, if necessary after loading it. */
  mustKnow(name: string, version: string): ServedModel {
    const entry = this.#takeAvailable(name, version) ?? this.#takeAwaited(name, version);
    if (entry === undefined) throw this.#refusalOf(name, version);
    return entry.model;
  }

  /** The view of the version that takes the request; undefined: `mustKnow` says why none does. */
  takeView(name: string, version: string): ModelView | undefined {
    return (this.#takeAvailable(name, version) ?? this.#takeAwaited(name, version))?.model.view;
  }

  #takeAvailable(name: string, version: string): VersionEntry | undefined {
    const named = this.#names.get(name);
    const entry = version === '' ? named?.preferred : named?.versions.get(version);
    return entry !== undefined && isAvailable(entry.state) ? entry : undefined;
  }

  #takeAwaited(name: string, version: string): VersionEntry | undefined {
    const named = this.#names.get(name);
    const entry = version === '' && named !== undefined ? highestOf(named) : named?.versions.get(version);
    return entry?.isAwaited === true ? entry : undefined;
  }

  #refusalOf(name: string, version: string): InferenceError {
    const named = this.#names.get(name);
    const entry = version === '' ? named?.preferred : named?.versions.get(version);
    const failure = this.#failures.get(name)?.find((one) => version === '' || one.version === version);
    if (entry !== undefined) return this.#notReady(name, version, entry.reason);
    if (failure !== undefined) return this.#notReady(name, version, failure.reason);
    if (named === undefined) {
      const broken = this.#failures.get(name)?.[0];
      if (broken !== undefined) return this.#notReady(name, version, broken.reason);
      return new InferenceError('unknown-model', this.unserved.unknownModelText(name, this.#names.keys()));
    }
    if (version === '') return this.#notReady(name, version, highestOf(named)?.reason ?? 'it has no version');
    return new InferenceError('unknown-model', this.unserved.unknownVersionText(name, version));
  }

  #notReady(name: string, version: string, reason: string): InferenceError {
    const which = version === '' ? quote(name) : `${quote(name)} version ${version}`;
    const why = this.redactPaths(reason);
    return new InferenceError('model-not-ready', `Request for model ${which} cannot be served now: ${why}`);
  }

  readyVersions(name: string): readonly string[] {
    const versions: string[] = [];
    for (const [version, { state }] of this.#names.get(name)?.versions ?? []) {
      if (isAvailable(state)) versions.push(version);
    }
    return versions.sort(compareVersions);
  }

  statuses(): readonly ModelStatus[] {
    const statuses: ModelStatus[] = [];
    for (const [name, { versions }] of this.#names) {
      for (const [version, entry] of versions) {
        const { state, isTolerated } = entry;
        const status = { name, version, state, reason: state === 'ready' ? '' : entry.reason };
        const replacementReason = state === 'ready' ? this.#replacementReason(name, version, entry) : '';
        if (isTolerated && state === 'failed') statuses.push({ ...status, isTolerated });
        else statuses.push(replacementReason === '' ? status : { ...status, replacementReason });
      }
    }
    for (const [name, failures] of this.#failures) {
      const served = this.#names.get(name)?.versions;
      for (const { version, reason, isTolerated } of failures) {
        // The version that is still served counts; the failure of its new files is reported along with it.
        if (served?.has(version) === true) continue;
        statuses.push({ name, version, state: 'failed', reason, ...(isTolerated ? { isTolerated } : {}) });
      }
    }
    return statuses.sort(byNameThenVersion);
  }

  /** Its new files cannot be read, or could not be loaded. */
  #replacementReason(name: string, version: string, { replacementReason }: VersionEntry): string {
    const unread = this.#failures.get(name)?.find((failure) => failure.version === version);
    return unread?.reason ?? replacementReason;
  }

  /** The model of a listed version; undefined for one that never could be served. */
  takeModel(name: string, version: string): ServedModel | undefined {
    return this.#names.get(name)?.versions.get(version)?.model;
  }

  /**
   * Marks a model as being loaded. A revision that serves under its name and version is not touched. `isAwaited`:
   * requests may wait for the load; otherwise they are refused.
   */
  announce(model: ServedModel, isAwaited = false): void {
    const entry = this.#entryOf(model);
    if (entry?.state === 'ready') return;
    // The next request loads this revision; the one before it may be forgotten meanwhile.
    if (entry?.state === 'evicted') this.#put(model, 'evicted', entry.reason);
    else this.#put(model, 'loading', 'the model is loading', isAwaited);
  }

  /** The model should have replaced the one that serves, and cannot. */
  noteReplacementFailed(model: ServedModel, reason: string): void {
    const entry = this.#entryOf(model);
    if (entry !== undefined && entry.model !== model) entry.replacementReason = reason;
    for (const listener of this.#listeners) listener();
  }

  /** Represents its version from now on, whether or not it can be served yet. */
  replace(model: ServedModel): void {
    this.#put(model, 'loading', 'the model is loading');
  }

  /** Takes the requests of its name and version from now on. */
  serve(model: ServedModel): void {
    this.#put(model, 'ready', '');
  }

  /** It is not in memory and is loaded again on demand. */
  setAside(model: ServedModel): void {
    const entry = this.#entryOf(model);
    // Also where an earlier revision is set aside: it is forgotten when it is unloaded.
    if (entry === undefined || entry.model === model || entry.state !== 'ready') {
      this.#put(model, 'evicted', 'it was unloaded to make room, and is loaded again when a request comes');
    }
  }

  /** Changes the state of the revision that represents a version; does nothing when another revision does and serves. */
  setState(model: ServedModel, state: ModelState, reason: string): void {
    const entry = this.#entryOf(model);
    if (entry === undefined || entry.model === model || !isAvailable(entry.state)) this.#put(model, state, reason);
  }

  /** It no longer represents its version. Returns true when no revision does. */
  remove(model: ServedModel): boolean {
    const named = this.#names.get(model.view.name);
    const entry = named?.versions.get(model.view.version);
    if (named === undefined || entry === undefined) return true;
    if (entry.model !== model) return false;
    named.versions.delete(model.view.version);
    if (named.versions.size === 0) this.#names.delete(model.view.name);
    this.#changed(named);
    return true;
  }

  /** Replaces the list of what could not be read in a model's folder. */
  setFailures(name: string, failures: readonly ReadFailure[]): void {
    if (failures.length === 0 && !this.#failures.has(name)) return;
    if (failures.length === 0) this.#failures.delete(name);
    else {
      const isTolerated = !this.#isStarting;
      this.#failures.set(
        name,
        failures.map((failure) => ({ ...failure, isTolerated })),
      );
    }
    this.#changed(this.#names.get(name));
  }

  /** Calls back after every change of a state; returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #entryOf(model: ServedModel): VersionEntry | undefined {
    return this.#names.get(model.view.name)?.versions.get(model.view.version);
  }

  #put(model: ServedModel, state: ModelState, reason: string, isAwaited = false): void {
    const { name, version } = model.view;
    const named = this.#names.get(name) ?? { versions: new Map(), preferred: undefined };
    this.#names.set(name, named);
    const entry = named.versions.get(version);
    const hasServed = entry?.hasServed === true || isAvailable(state);
    const isTolerated = state === 'failed' && !this.#isStarting && (!hasServed || isServedBesides(named, version));
    const replacementReason = entry?.model === model ? entry.replacementReason : '';
    const changed = { model, state, reason, isTolerated, isAwaited, replacementReason, hasServed };
    if (entry === undefined) named.versions.set(version, changed);
    else Object.assign(entry, changed);
    this.#changed(named);
  }

  #changed(named: NameEntry | undefined): void {
    if (named !== undefined) named.preferred = highestOf(named, isAvailable);
    for (const listener of this.#listeners) listener();
  }
}

function isAvailable(state: ModelState): boolean {
  return state === 'ready' || state === 'evicted';
}

/** Whether other versions of the model take requests. */
function isServedBesides({ versions }: NameEntry, version: string): boolean {
  for (const [other, { state }] of versions) if (other !== version && isAvailable(state)) return true;
  return false;
}

function highestOf({ versions }: NameEntry, isWanted: (state: ModelState) => boolean = () => true) {
  let highest: VersionEntry | undefined;
  for (const entry of versions.values()) {
    if (!isWanted(entry.state)) continue;
    if (highest === undefined || compareVersions(entry.model.view.version, highest.model.view.version) > 0) {
      highest = entry;
    }
  }
  return highest;
}

function byNameThenVersion(a: ModelStatus, b: ModelStatus): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.version) - Number(b.version);
}
