/**
 * Connects the parts of the life cycle and is their interface: the server and the embedding API use it. It decides
 * nothing itself. Who owns what:
 *
 * - reading the repository and noticing changes: `reading/`; in the modes `none` and `poll` the repository decides what
 *   is served (`repository-follower.ts`);
 * - what was loaded by request, in the mode `explicit`: `explicit/`; what was pinned: `pins.ts`;
 * - what should be served, and what is loaded, served, drained and unloaded for it: `revisions/`;
 * - requests that wait for a model that is not in memory: `revisions/demand-waiters.ts`.
 *
 * `reading/` imports none of the others, `revisions/` imports `reading/`, and `explicit/` imports both.
 */
import type { ModelKey } from '@millrace/core';
import { type ConfigProblem, InferenceError } from '@millrace/protocol';
import type { ModelFailure } from '../model/model-definition.ts';
import { warnOfSteps } from '../repository/kinds/ensemble/warn-of-steps.ts';
import { type ContextStatus, contextStatuses, statusesForCallers } from './context-statuses.ts';
import { ExplicitLoads } from './explicit/explicit-loads.ts';
import type { LoadOverrides } from './explicit/load-overrides.ts';
import type { LibraryControl, ModelLibraryParts } from './library-parts.ts';
import type { ModelControl } from './model-control.ts';
import { Pins } from './pins.ts';
import { RepositoryReader } from './reading/repository-reader.ts';
import { RepositoryFollower } from './repository-follower.ts';
import { type IndexEntry, indexFrom } from './repository-index.ts';
import { LibraryContents } from './revisions/library-contents.ts';
import { RevisionLoader } from './revisions/revision-loader.ts';

export class ModelLibrary implements ModelControl {
  readonly #parts: ModelLibraryParts;
  readonly #reader: RepositoryReader;
  readonly #loader: RevisionLoader;
  readonly #contents: LibraryContents;
  readonly #pins: Pins;
  readonly #explicit: ExplicitLoads;
  readonly #follower: RepositoryFollower;
  readonly #problems: ConfigProblem[] = [];

  private constructor(parts: ModelLibraryParts) {
    this.#parts = parts;
    const { control, listener } = parts;
    const onRead = (failures: readonly ModelFailure[]): void => this.#tellRead(failures);
    const { unserved } = parts.models;
    this.#reader = new RepositoryReader({
      ...parts,
      onWarning: (warning) => listener.repositoryWarned(warning),
      onFound: (names) => unserved.noteRepository(names, loadAdvice[control.mode]),
      onUnserved: (name, versions) => unserved.noteVersions(name, versions),
    });
    this.#pins = new Pins(parts.store);
    this.#loader = new RevisionLoader({
      ...parts,
      move: (context) => this.#contents.move(context),
      // In poll mode the watch finds them, in explicit mode whoever loads the model again.
      onFilesChanged: (model) => {
        if (control.mode === 'none') this.#follower.readAgain(model);
      },
    });
    this.#contents = new LibraryContents({
      ...parts,
      loader: this.#loader,
      // In explicit mode the caller of a load gets its outcome and may repeat it.
      isRetried: control.mode !== 'explicit',
      isPinned: (model, version) => this.#pins.has(model, version),
    });
    const shared = { ...parts, reader: this.#reader, contents: this.#contents, loader: this.#loader };
    this.#explicit = new ExplicitLoads({
      ...shared,
      isAllowed: control.mode === 'explicit',
      isUploadedCodeAllowed: control.isUploadedCodeAllowed,
      onUnreadable: onRead,
    });
    this.#follower = new RepositoryFollower({
      ...shared,
      onRead,
      onFound: (locations) => parts.preparation?.prepare(locations),
    });
  }

  /** Reads the repository. Rejects with a `ConfigError` when the paths that were given cannot be used. */
  static async open(parts: ModelLibraryParts): Promise<ModelLibrary> {
    const library = new ModelLibrary(parts);
    await library.#pins.restore();
    const isExplicit = parts.control.mode === 'explicit';
    const failures = isExplicit ? await library.#restoreLoads() : await library.#follower.readAll();
    library.#problems.push(...failures.flatMap(({ problems }) => problems));
    for (const warning of warnOfSteps(library.#contents.definitions())) parts.listener.repositoryWarned(warning);
    return library;
  }

  /** Where requests for versions that are not in memory wait. */
  get demand(): RevisionLoader['demand'] {
    return this.#loader.demand;
  }

  /** What could not be read at the start, as problems of a `ConfigError`. */
  get problems(): readonly ConfigProblem[] {
    return this.#problems;
  }

  /** Begins to load and, in poll mode, to watch. `streamed`: versions that open streams wait for, which are loaded first. */
  start(streamed?: ReadonlySet<ModelKey>): void {
    const { control } = this.#parts;
    this.#loader.tell({ kind: 'budget', bytesMax: control.budgetBytes });
    this.#contents.apply(streamed);
    this.#loader.tell({ kind: 'started' });
    this.#parts.preparation?.release();
    if (control.mode === 'poll') this.#follower.start();
    this.#loader.measureEvery(control.measureMs);
  }

  /** Resolves when no model is loading. */
  settled(): Promise<void> {
    const { models } = this.#parts;
    return new Promise((resolve) => {
      let stop = (): void => {};
      const check = (): void => {
        if (models.statuses().some(({ state }) => state === 'loading')) return;
        stop();
        resolve();
      };
      stop = models.onChange(check);
      check();
    });
  }

  /** Stops all decisions; requests that still wait for a model to be loaded are refused. */
  close(): void {
    this.#follower.stop();
    this.#loader.close();
    this.#loader.demand.close();
  }

  /** Removes files that came with loads and are not kept. To be called last, when no worker needs them any more. */
  async removeFiles(): Promise<void> {
    await this.#explicit.close();
  }

  /** Measures the memory of every model, unless that was done a moment ago. */
  measure(): Promise<void> {
    return this.#loader.measure();
  }

  async index(): Promise<readonly IndexEntry[]> {
    const { locations, failures } = await this.#reader.find();
    const names = [...locations, ...failures].map(({ name }) => name);
    const { models } = this.#parts;
    return indexFrom(names, statusesForCallers(models), this.#explicit.unloaded, models.unserved.versions);
  }

  load(model: string, overrides: LoadOverrides = {}): Promise<void> {
    return this.#refusable(this.#explicit.load(model, overrides));
  }

  unload(model: string, options: { readonly isWithDependents?: boolean } = {}): Promise<void> {
    return this.#refusable(this.#explicit.unload(model, options.isWithDependents === true));
  }

  async setPinned(model: string, version: string, isPinned: boolean): Promise<void> {
    const revision = this.#contents.revisionOf(model, version);
    if (revision === undefined) {
      throw new InferenceError('unknown-model', `no version ${version} of '${model}' is served; load it first`);
    }
    await this.#refusable(this.#pins.set(model, version, isPinned));
    const isAnyPinned = revision.models.some(({ view }) => this.#pins.has(view.name, view.version));
    this.#loader.tell({ kind: 'pinned', context: revision.plan.name, isPinned: isAnyPinned });
  }

  contexts(): readonly ContextStatus[] {
    const { models, inspection, clock } = this.#parts;
    return contextStatuses({
      statuses: statusesForCallers(models),
      modelOf: (name, version) => models.takeModel(name, version),
      revisionOf: (model) => this.#loader.revisionOf(model),
      keeper: this.#loader.keeper,
      isPinned: (name, version) => this.#pins.has(name, version),
      workOf: (model) => inspection.workOf(model),
      nowMs: clock.now(),
    });
  }

  async #restoreLoads(): Promise<readonly ModelFailure[]> {
    const { loads, isRestart } = this.#parts.control;
    const { locations } = await this.#reader.mustFind();
    const names = new Set(loads.includes('*') ? locations.map(({ name }) => name) : loads);
    this.#parts.preparation?.prepare(locations.filter(({ name }) => names.has(name)));
    return this.#explicit.restore([...names], isRestart);
  }

  #tellRead(failures: readonly ModelFailure[]): void {
    const { models, listener } = this.#parts;
    listener.modelRead(failures.filter(({ name, version }) => models.readyVersions(name).includes(version)));
  }

  /** Reports unexpected errors, such as a full disk or a closed store, with a code of the error catalogue. */
  async #refusable(change: Promise<void>): Promise<void> {
    try {
      await change;
    } catch (error) {
      if (error instanceof InferenceError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      const message = this.#parts.models.redactPaths(`the change could not be saved: ${reason}`);
      throw new InferenceError('internal', message, { cause: error });
    }
  }
}

/** How a model that is in the repository and not loaded can be served. */
const loadAdvice: Readonly<Record<LibraryControl['mode'], (name: string) => string>> = {
  explicit: (name) => `load it with: millrace models load ${name}`,
  poll: () => 'it is loaded when its files have been unchanged for models.settleSeconds; retry then',
  none: () => 'it was added after the start; restart the server, or start it with --model-control-mode poll',
};
