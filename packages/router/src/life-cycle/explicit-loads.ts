/** Loads and unloads that somebody asks for, with or without a configuration and files of their own. */
import { InferenceError, quote } from '@millrace/protocol';
import type { ServedModels } from '../catalogue/served-models.ts';
import { failureReason } from '../model/failure-reason.ts';
import type { ModelFailure } from '../model/model-definition.ts';
import type { ModelPlace } from '../repository/repository-layout.ts';
import { checkLoad } from './check-load.ts';
import type { ReadDefinition } from './context-plan.ts';
import { stepFailures, stepNamesOf } from './ensembles/step-views.ts';
import { KeptConfigs, shortPrintOf } from './kept-configs.ts';
import type { LibraryContents } from './library-contents.ts';
import type { LoadOverrides } from './load-overrides.ts';
import { type Places, placeOfLoad, placeOfRequest, takePlace } from './load-place.ts';
import type { OverrideFiles } from './override-files.ts';
import type { RevisionStage } from './revision-stage.ts';
import type { SavedLoad, SavedLoads } from './saved-loads.ts';
import { stepOrderOf } from './step-order.ts';
import { UnloadedModels } from './unloaded-models.ts';
import { UploadedCode } from './uploaded-code.ts';

export type ControlMode = 'none' | 'poll' | 'explicit';

/** Triton's words, in both of the modes in which the repository alone decides, and what to do. */
const loadNotAllowedText =
  'explicit model load / unload is not allowed if polling is enabled; start the server with --model-control-mode explicit';

export interface ExplicitLoadsParts {
  readonly mode: ControlMode;
  /** Whether loads may bring pipelines and other files that are executed. */
  readonly isUploadedCodeAllowed: boolean;
  readonly saved: SavedLoads;
  readonly files: OverrideFiles;
  readonly contents: LibraryContents;
  readonly stage: RevisionStage;
  readonly models: ServedModels;
  readonly findPlaces: () => Promise<Places>;
  readonly read: (place: ModelPlace) => Promise<LibraryReading>;
  /** Told what keeps a model from being loaded. */
  readonly onUnreadable: (failures: readonly ModelFailure[]) => void;
}

/** A model as it was read, and what of it cannot be served. */
export interface LibraryReading {
  readonly failures: readonly ModelFailure[];
  readonly read: ReadDefinition | undefined;
}

export class ExplicitLoads {
  readonly #parts: ExplicitLoadsParts;
  readonly #files: OverrideFiles;
  readonly #code: UploadedCode;
  /** By model: the folder of the files that came with its last load. */
  readonly #folders = new Map<string, string>();
  readonly #unloaded = new UnloadedModels();
  readonly #configs = new KeptConfigs();
  /** Models that were asked for by name; the others were loaded along with an ensemble. */
  readonly #asked = new Set<string>();
  /** By model: the end of the last change, so that changes of one model come one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(parts: ExplicitLoadsParts) {
    this.#parts = parts;
    this.#files = parts.files;
    this.#code = new UploadedCode(parts.isUploadedCodeAllowed);
  }

  /** Versions of models that were served and were unloaded since. */
  get unloaded(): ReadonlyMap<string, readonly string[]> {
    return this.#unloaded.versions;
  }

  /** What is to be loaded at the start: what was asked for before, and `names`. Returns what cannot be. */
  async restore(names: readonly string[]): Promise<readonly ModelFailure[]> {
    const saved = await this.#savedLoads();
    const failures: ModelFailure[] = [];
    await this.#files.keepOnly(new Set([...saved.values()].flatMap(({ folder }) => folder ?? [])));
    for (const name of [...saved.keys(), ...names]) this.#asked.add(name);
    const places = await this.#parts.findPlaces();
    // Steps of ensembles join while this goes on.
    const wanted = new Set(this.#asked);
    for (const name of wanted) {
      const load = saved.get(name) ?? {};
      const { read, failures: found } = await this.#readingOf(name, load, places);
      this.#parts.contents.put(name, found, read);
      failures.push(...found);
      if (load.folder !== undefined) this.#folders.set(name, load.folder);
      this.#configs.note(name, load);
      for (const step of read === undefined ? [] : stepNamesOf(read.definition)) wanted.add(step);
    }
    return failures;
  }

  /** Loads the models of an ensemble's steps first. */
  async load(name: string, overrides: LoadOverrides): Promise<void> {
    this.#mustBeAllowed();
    checkLoad(name, overrides);
    await this.#code.refuse(name, overrides, this.#parts.findPlaces);
    await this.#loadSteps(name, overrides);
    await this.#inTurn(name, () => this.#load(name, overrides));
  }

  async unload(name: string, isWithDependents: boolean): Promise<void> {
    this.#mustBeAllowed();
    const names = isWithDependents ? this.#withUnusedSteps(name) : new Set([name]);
    for (const one of names) await this.#inTurn(one, () => this.#unload(one));
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  async #load(name: string, { config, files }: LoadOverrides): Promise<void> {
    const folder = files !== undefined && files.size > 0 ? await this.#files.write(name, files) : undefined;
    try {
      const places = await this.#parts.findPlaces();
      const load = folder === undefined ? await this.#loadFor(name, config, places) : { ...inConfig(config), folder };
      await this.#loadAs(name, load, places, true);
    } catch (error) {
      if (folder !== undefined) await this.#files.remove(folder);
      throw error;
    }
    const before = this.#folders.get(name);
    if (folder === undefined) this.#folders.delete(name);
    else this.#folders.set(name, folder);
    if (before !== undefined) void this.#removeLater(before);
  }

  /** Keeps a load that was asked for; a model that is only a step of an ensemble is loaded with it after a restart. */
  async #loadAs(name: string, load: SavedLoad, places: Places, isAsked: boolean): Promise<void> {
    const { saved } = this.#parts;
    await this.#bring(name, load, places);
    if (isAsked) this.#asked.add(name);
    if (this.#asked.has(name)) {
      // What is lost with the server must not be looked for after a restart.
      if (load.folder === undefined || this.#files.isKept) await saved.putLoad(name, this.#toSave(load));
      else await saved.removeLoad(name);
    }
    this.#configs.note(name, load);
    this.#unloaded.forget(name);
  }

  /** What a load without files means: the configuration that comes with it, else the one kept, else the file's. */
  async #loadFor(name: string, config: string | undefined, places: Places): Promise<SavedLoad> {
    const place = takePlace(places, name);
    if (config === undefined) return (await this.#configs.takeFor(name, place)) ?? {};
    return place === undefined ? { config } : { config, print: await shortPrintOf(place) };
  }

  /** Has the models that an ensemble needs loaded, those that others need first. */
  async #loadSteps(name: string, { config, files }: LoadOverrides): Promise<void> {
    const places = await this.#parts.findPlaces();
    const hasFiles = files !== undefined && files.size > 0;
    const load = hasFiles ? inConfig(config) : await this.#loadFor(name, config, places);
    const root = placeOfRequest(name, load.config, places);
    const { models, ensembles, circle } = await stepOrderOf(root, (step) => takePlace(places, step));
    const problems: string[] = [];
    if (circle.length > 0) {
      problems.push(`it is made of itself (${circle.join(', which is made of ')}); take it out of one of them`);
    } else {
      problems.push(...(await Promise.all(models.map((step) => this.#loadStep(step)))));
      for (const step of ensembles) problems.push(await this.#loadStep(step));
    }
    const found = problems.filter((problem) => problem !== '').map((message) => ({ source: name, message }));
    if (found.length > 0) this.#refuse(name, places.has(name), [{ name, version: '', problems: found }]);
  }

  /** Why a step cannot be loaded; empty when it is. One that is loaded and whose files are the same stays as it is. */
  async #loadStep(name: string): Promise<string> {
    try {
      await this.#inTurn(name, async () => {
        // Its files came with a load: those in the repository are another model's.
        if (this.#folders.has(name)) return;
        const places = await this.#parts.findPlaces();
        await this.#loadAs(name, await this.#loadFor(name, undefined, places), places, false);
      });
      return '';
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
      return `its step ${JSON.stringify(name)} cannot be loaded: ${error.message}`;
    }
  }

  /** Resolves when every version of the model that is to be served is. */
  async #bring(name: string, saved: SavedLoad, places: Places): Promise<void> {
    const { contents, stage, models } = this.#parts;
    const reading = await this.#readingOf(name, saved, places);
    const { read } = reading;
    const failures = [...reading.failures, ...(read === undefined ? [] : stepFailures(models, read.definition))];
    if (failures.length > 0) this.#refuse(name, saved.folder !== undefined || places.has(name), failures);
    contents.put(name, [], read);
    // One that failed before, or is not served, is tried anew although its files are the same.
    if (contents.revisionsOf(name).some((revision) => stage.hasFailed(revision))) contents.renew(name);
    contents.apply();
    const reasons = await Promise.all(contents.revisionsOf(name).map((revision) => stage.outcomeOf(revision)));
    // No load fails of a model without instances: whether it can be served is in its state.
    const failed = models.statuses().filter((status) => status.name === name && status.state === 'failed');
    const all = read?.definition.instanceCount === 0 ? [...reasons, ...failed.map((status) => status.reason)] : reasons;
    const reason = all.filter((one) => one !== '').join('; ');
    if (reason === '') return;
    throw new InferenceError('model-not-ready', models.callerWords(`load failed for model ${quote(name)}: ${reason}`));
  }

  /** All of it or nothing: what serves goes on. A name that nobody has leaves no trace: whoever calls may make up many. */
  #refuse(name: string, isKnown: boolean, failures: readonly ModelFailure[]): never {
    const { contents, models, onUnreadable } = this.#parts;
    if (isKnown || contents.has(name)) contents.put(name, failures, undefined);
    onUnreadable(failures);
    throw new InferenceError(
      'invalid-request',
      models.callerWords(`failed to load ${quote(name)}, ${failures.map(failureReason).join('; ')}`),
    );
  }

  async #unload(name: string): Promise<void> {
    const { contents, models, saved, findPlaces } = this.#parts;
    const statuses = models.statuses().filter((status) => status.name === name);
    // One that could not be read has a status, too, and may have been asked for before a restart.
    if (statuses.length === 0 && !contents.has(name)) {
      if (!(await findPlaces()).has(name)) {
        throw new InferenceError('unknown-model', `failed to unload ${quote(name)}, there is no such model`);
      }
      return;
    }
    await saved.removeLoad(name);
    this.#asked.delete(name);
    this.#configs.forget(name);
    const versions = statuses.map(({ version }) => version).filter((version) => version !== '');
    if (contents.has(name)) this.#unloaded.note(name, versions);
    contents.remove(name);
    contents.apply();
    const folder = this.#folders.get(name);
    this.#folders.delete(name);
    if (folder !== undefined) void this.#removeLater(folder);
  }

  async #savedLoads(): Promise<ReadonlyMap<string, SavedLoad>> {
    const saved = await this.#parts.saved.loads();
    const placed = ({ folder, ...load }: SavedLoad): SavedLoad =>
      folder === undefined ? load : { ...load, folder: this.#files.folderOf(folder) };
    return new Map([...saved].map(([name, load]) => [name, placed(load)]));
  }

  #toSave({ folder, ...load }: SavedLoad): SavedLoad {
    return folder === undefined ? load : { ...load, folder: this.#files.nameOf(folder) };
  }

  /** Files go when nothing that was loaded from them is left: a worker that is lost is loaded from them again. */
  async #removeLater(folder: string): Promise<void> {
    await this.#parts.stage.whenForgotten((revision) =>
      revision.plan.members.some(({ version }) => version.path.startsWith(`${folder}/`)),
    );
    await this.#files.remove(folder);
  }

  async #readingOf(name: string, saved: SavedLoad, places: Places): Promise<LibraryReading> {
    const place = await placeOfLoad(name, saved, places);
    if ('problems' in place) return { failures: [place], read: undefined };
    const message = await this.#code.problemOf(place, saved, places);
    if (message === undefined) return this.#parts.read(place);
    return { failures: [{ name, version: '', problems: [{ source: name, message }] }], read: undefined };
  }

  /** An ensemble, and those of its steps that were loaded along with it and that no other ensemble needs. */
  #withUnusedSteps(name: string): ReadonlySet<string> {
    const definitions = this.#parts.contents.definitions();
    const leaving = new Set([name]);
    for (const one of leaving) {
      const steps = definitions.filter((definition) => definition.name === one).flatMap(stepNamesOf);
      for (const step of steps) {
        const users = definitions.filter((definition) => stepNamesOf(definition).includes(step));
        if (!this.#asked.has(step) && users.every((user) => leaving.has(user.name))) leaving.add(step);
      }
    }
    return leaving;
  }

  #mustBeAllowed(): void {
    if (this.#parts.mode !== 'explicit') throw new InferenceError('load-not-allowed', loadNotAllowedText);
  }

  async #inTurn(name: string, change: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.then(change, change);
    this.#turns.set(name, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }
}

function inConfig(config: string | undefined): SavedLoad {
  return config === undefined ? {} : { config };
}
