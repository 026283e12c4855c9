/**
 * Owns what is served: reads the repository, decides with the keeper what is in memory, and has it loaded, served,
 * drained and unloaded. Both the server and the embedding API stand on it.
 */

import { ConfigError, type ConfigProblem, InferenceError } from '@millrace/protocol';
import type { MetadataStore } from '@millrace/store';
import type { ModelStatus } from '../catalogue/catalogue.ts';
import type { Demand } from '../data-plane/demand.ts';
import type { WorkInspection } from '../data-plane/work-inspection.ts';
import type { ModelFailure } from '../model/model-definition.ts';
import { warnOfSteps } from '../repository/kinds/ensemble/warn-of-steps.ts';
import { readModel } from '../repository/read-model.ts';
import type { ReadModelOptions } from '../repository/read-model-options.ts';
import { findAllModels } from '../repository/repository.ts';
import type { ModelPlace } from '../repository/repository-layout.ts';
import type { ContextStatus } from './context-statuses.ts';
import { contextStatuses } from './context-statuses.ts';
import { type ControlMode, ExplicitLoads, type LibraryReading } from './explicit-loads.ts';
import { printOf } from './fingerprint.ts';
import { LibraryContents, type LibraryContentsParts } from './library-contents.ts';
import type { LoadOverrides } from './load-overrides.ts';
import type { Places } from './load-place.ts';
import type { ModelControl } from './model-control.ts';
import { OverrideFiles } from './override-files.ts';
import type { IndexEntry } from './repository-index.ts';
import { indexFrom } from './repository-index.ts';
import { RepositoryLooks } from './repository-looks.ts';
import { RepositoryWatch } from './repository-watch.ts';
import { RevisionStage, type RevisionStageParts } from './revision-stage.ts';
import { SavedLoads } from './saved-loads.ts';

export interface ModelLibraryParts
  extends RevisionStageParts,
    Omit<LibraryContentsParts, 'stage' | 'isRetried' | 'isPinned'> {
  /** Model repositories and single files. */
  readonly paths: readonly string[];
  readonly reading: ReadModelOptions;
  readonly control: LibraryControl;
  readonly inspection: Pick<WorkInspection, 'workOf'>;
  /** Keeps explicit loads and pins. */
  readonly store: MetadataStore;
  /** Where files that came with a load are kept; undefined: they go with the server. */
  readonly stateFolder: string | undefined;
  /** Where those files are that are not kept; the system's place for temporary files unless given. */
  readonly temporaryFolder?: string | undefined;
  /** The group of the workers, where they run as another user and must be let in to such files. */
  readonly readerGroup?: number | undefined;
}

export interface LibraryControl {
  readonly mode: ControlMode;
  /** How often the repository is looked at in poll mode, whatever the system tells of it. */
  readonly pollMs: number;
  /** How long files must have stayed as they are before they are loaded in poll mode. */
  readonly settleMs: number;
  /** What is loaded at the start in explicit mode; `*` stands for all. */
  readonly loads: readonly string[];
  /** Whether loads by request may bring pipelines and other files that are executed. */
  readonly isUploadedCodeAllowed: boolean;
  /** How often processes are measured. */
  readonly measureMs: number;
  /** Infinity: no budget. */
  readonly budgetBytes: number;
}

/** Said of a version that is ready although it should have been replaced. */
const servesOnText = 'it serves as it was before; what was to take its place cannot be served';

export class ModelLibrary implements ModelControl {
  readonly #parts: ModelLibraryParts;
  readonly #stage: RevisionStage;
  readonly #contents: LibraryContents;
  readonly #looks: RepositoryLooks;
  readonly #saved: SavedLoads;
  readonly #explicit: ExplicitLoads;
  readonly #watch: RepositoryWatch;
  readonly #problems: ConfigProblem[] = [];
  #pins: Set<string> = new Set();
  #cancelMeasure: (() => void) | undefined;

  private constructor(parts: ModelLibraryParts) {
    this.#parts = parts;
    const { control, paths, clock, models } = parts;
    this.#stage = new RevisionStage(parts);
    this.#contents = new LibraryContents({
      ...parts,
      stage: this.#stage,
      // In explicit mode whoever asked for a load hears how it went, and asks again.
      isRetried: control.mode !== 'explicit',
      isPinned: (model, version) => this.#pins.has(pinOf(model, version)),
    });
    this.#looks = new RepositoryLooks(paths, control.settleMs);
    this.#saved = new SavedLoads(parts.store);
    this.#explicit = new ExplicitLoads({
      mode: control.mode,
      isUploadedCodeAllowed: control.isUploadedCodeAllowed,
      saved: this.#saved,
      files: new OverrideFiles(parts),
      contents: this.#contents,
      stage: this.#stage,
      models,
      findPlaces: () => this.#findPlaces(),
      read: (place) => this.#read(place),
      onUnreadable: (failures) => this.#tellRead(failures),
    });
    this.#watch = new RepositoryWatch({ paths, pollMs: control.pollMs, clock, onChange: () => this.look() });
  }

  /** Reads the repository. Rejects with a `ConfigError` when the paths that were given are no good. */
  static async open(parts: ModelLibraryParts): Promise<ModelLibrary> {
    const library = new ModelLibrary(parts);
    library.#pins = new Set(await library.#saved.pins());
    if (parts.control.mode === 'explicit') await library.#openExplicit();
    else await library.#openAll();
    for (const warning of warnOfSteps(library.#contents.definitions())) parts.listener.repositoryWarned(warning);
    return library;
  }

  /** Where requests for versions that are not in memory wait. */
  get demand(): Demand {
    return this.#stage.demand;
  }

  /** What could not be read at the start, in the words of `ConfigError`. */
  get problems(): readonly ConfigProblem[] {
    return this.#problems;
  }

  /** Begins to load and, in poll mode, to watch. */
  start(): void {
    const { control, models } = this.#parts;
    this.#stage.tell({ kind: 'budget', bytesMax: control.budgetBytes });
    this.#contents.apply();
    void this.settled().then(() => models.endStart());
    if (control.mode === 'poll') this.#watch.start();
    this.#measureLater();
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

  /** Decides nothing any more; whoever still waits for a model to come back is refused. */
  close(): void {
    this.#watch.stop();
    this.#cancelMeasure?.();
    this.#stage.close();
    this.#stage.demand.refuseAll();
  }

  /** To be called last, when no worker needs them any more: files that came with loads and are not kept go. */
  async removeFiles(): Promise<void> {
    await this.#explicit.close();
  }

  /** Looks at what every model holds in memory now. */
  measure(): void {
    this.#stage.measure();
  }

  /** Looks at the repository, and has what changed and settled served. Whatever happens, what serves is served on. */
  async look(): Promise<void> {
    const { clock, control, listener } = this.#parts;
    try {
      const look = await this.#looks.look(clock.now());
      for (const warning of look.warnings) listener.repositoryWarned(warning);
      for (const failure of look.broken) {
        this.#contents.put(failure.name, [failure], undefined);
        this.#tellRead([failure]);
      }
      for (const { place } of look.changed) this.#tellRead(await this.#take(place));
      for (const name of look.removed) this.#contents.remove(name);
      if (look.changed.length > 0 || look.removed.length > 0) this.#contents.apply();
      if (look.isUnsettled) this.#watch.lookWithin(control.settleMs);
    } catch (error) {
      const message = `could not be looked at: ${error instanceof Error ? error.message : String(error)}`;
      listener.repositoryWarned({ source: this.#parts.paths.join(', '), message });
    }
  }

  async index(): Promise<readonly IndexEntry[]> {
    const { places, failures } = await findAllModels(this.#parts.paths);
    const names = [...places, ...failures].map(({ name }) => name);
    return indexFrom(names, this.#statusesForCallers(), this.#explicit.unloaded);
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
    const pin = pinOf(model, version);
    await this.#refusable(this.#saved.setPinned(pin, isPinned));
    if (isPinned) this.#pins.add(pin);
    else this.#pins.delete(pin);
    const isAnyPinned = revision.models.some(({ view }) => this.#pins.has(pinOf(view.name, view.version)));
    this.#stage.tell({ kind: 'pinned', context: revision.plan.name, isPinned: isAnyPinned });
  }

  contexts(): readonly ContextStatus[] {
    const { models, inspection, clock } = this.#parts;
    return contextStatuses({
      statuses: this.#statusesForCallers(),
      modelOf: (name, version) => models.takeModel(name, version),
      revisionOf: (model) => this.#stage.revisionOf(model),
      keeper: this.#stage.keeper,
      isPinned: (name, version) => this.#pins.has(pinOf(name, version)),
      workOf: (model) => inspection.workOf(model),
      nowMs: clock.now(),
    });
  }

  #statusesForCallers(): readonly ModelStatus[] {
    const { models } = this.#parts;
    return models.statuses().map(({ replacementReason, ...status }) => {
      const reason = replacementReason === undefined ? status.reason : `${servesOnText}: ${replacementReason}`;
      return { ...status, reason: models.callerWords(reason) };
    });
  }

  async #openAll(): Promise<void> {
    const { paths, listener, clock } = this.#parts;
    const found = await findAllModels(paths);
    if (found.problems.length > 0) throw new ConfigError(found.problems);
    const look = await this.#looks.look(clock.now(), true);
    for (const warning of look.warnings) listener.repositoryWarned(warning);
    for (const failure of look.broken) {
      this.#contents.put(failure.name, [failure], undefined);
      this.#noteProblems([failure]);
    }
    for (const { place } of look.changed) this.#noteProblems(await this.#take(place));
  }

  async #openExplicit(): Promise<void> {
    const { paths, control } = this.#parts;
    const found = await findAllModels(paths);
    if (found.problems.length > 0) throw new ConfigError(found.problems);
    const named = new Set(control.loads.includes('*') ? found.places.map(({ name }) => name) : control.loads);
    this.#noteProblems(await this.#explicit.restore([...named]));
  }

  #noteProblems(failures: readonly ModelFailure[]): void {
    this.#problems.push(...failures.flatMap(({ problems }) => problems));
  }

  async #findPlaces(): Promise<Places> {
    const { places, failures } = await findAllModels(this.#parts.paths);
    return new Map([...failures, ...places].map((one) => [one.name, one]));
  }

  async #read(place: ModelPlace): Promise<LibraryReading> {
    // Looked at before it is read: what changes meanwhile is seen as a change, not missed.
    const print = await printOf(place);
    const { definition, failures, warnings } = await readModel(place, this.#parts.reading);
    for (const warning of warnings) this.#parts.listener.repositoryWarned(warning);
    return { failures, read: definition && { definition, print, generation: 0 } };
  }

  /** Reads a model for the next `apply`; what is wrong with it is returned, and in its status. */
  async #take(place: ModelPlace): Promise<readonly ModelFailure[]> {
    const { failures, read } = await this.#read(place);
    this.#contents.put(place.name, failures, read);
    return failures;
  }

  #tellRead(failures: readonly ModelFailure[]): void {
    const { models, listener } = this.#parts;
    listener.modelRead(failures.filter(({ name, version }) => models.readyVersions(name).includes(version)));
  }

  /** Whatever goes wrong beneath, a disk that is full or a store that is closed, is told by a code of the catalogue. */
  async #refusable(change: Promise<void>): Promise<void> {
    try {
      await change;
    } catch (error) {
      if (error instanceof InferenceError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      const message = this.#parts.models.callerWords(`the change could not be kept: ${reason}`);
      throw new InferenceError('internal', message, { cause: error });
    }
  }

  #measureLater(): void {
    const { clock, control } = this.#parts;
    this.#cancelMeasure = clock.alarm(control.measureMs, () => {
      this.#stage.measure();
      this.#measureLater();
    });
  }
}

function pinOf(model: string, version: string): string {
  return `${model}/${version}`;
}
