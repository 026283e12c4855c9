/** Loads and unloads that somebody asks for, with or without a configuration and files of their own. */
import { readdir } from 'node:fs/promises';
import { InferenceError } from '@millrace/protocol';
import { failureReason } from '../failure-reason.ts';
import type { LoadOverrides } from '../management.ts';
import type { ModelFailure } from '../model-definition.ts';
import { modelNameProblem } from '../model-name.ts';
import type { ModelPlace } from '../repository-layout.ts';
import type { ServedModels } from '../served-models.ts';
import { isVersionName } from '../version-policy.ts';
import type { ReadDefinition } from './context-plan.ts';
import type { LibraryContents } from './library-contents.ts';
import { OverrideFiles } from './override-files.ts';
import type { RevisionStage } from './revision-stage.ts';
import type { SavedLoad, SavedLoads } from './saved-loads.ts';
import { UnloadedModels } from './unloaded-models.ts';

export type ControlMode = 'none' | 'poll' | 'explicit';

/** Triton's words, in both of the modes in which the repository alone decides, and what to do. */
const loadNotAllowedText =
  'explicit model load / unload is not allowed if polling is enabled; start the server with --model-control-mode explicit';

/** A configuration that comes with a load is kept in the metadata store, whose values are small. */
const configOverrideBytesMax = 128 * 1024;

export interface ExplicitLoadsParts {
  readonly mode: ControlMode;
  readonly saved: SavedLoads;
  readonly stateFolder: string | undefined;
  readonly contents: LibraryContents;
  readonly stage: RevisionStage;
  readonly models: ServedModels;
  /** Where a model lies in the repository, or what keeps it from being looked into. */
  readonly findPlace: (name: string) => Promise<ModelPlace | ModelFailure | undefined>;
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
  /** By model: the folder of the files that came with its last load. */
  readonly #folders = new Map<string, string>();
  readonly #unloaded = new UnloadedModels();
  /** By model: the end of the last change, so that changes of one model come one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(parts: ExplicitLoadsParts) {
    this.#parts = parts;
    this.#files = new OverrideFiles(parts.stateFolder);
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
    for (const name of new Set([...saved.keys(), ...names])) {
      const load = saved.get(name) ?? {};
      const reading = await this.#readingOf(name, load);
      this.#parts.contents.put(name, reading.failures, reading.read);
      failures.push(...reading.failures);
      if (load.folder !== undefined) this.#folders.set(name, load.folder);
    }
    return failures;
  }

  load(name: string, overrides: LoadOverrides): Promise<void> {
    return this.#inTurn(name, () => this.#load(name, overrides));
  }

  async unload(name: string, isWithDependents: boolean): Promise<void> {
    this.#mustBeAllowed();
    const names = isWithDependents ? this.#withSteps(name, new Set()) : new Set([name]);
    for (const one of names) await this.#inTurn(one, () => this.#unload(one));
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  async #load(name: string, { config, files }: LoadOverrides): Promise<void> {
    this.#mustBeAllowed();
    const problem = modelNameProblem(name);
    if (problem !== undefined || name === '..') {
      throw new InferenceError('invalid-request', `failed to load '${name}', ${problem ?? 'it is no model name'}`);
    }
    const hasFiles = files !== undefined && files.size > 0;
    if (hasFiles && config === undefined) {
      const advice = 'a load with files needs its configuration too, in the parameter "config"';
      throw new InferenceError('invalid-request', `failed to load '${name}', ${advice}`);
    }
    if (config !== undefined && Buffer.byteLength(config) > configOverrideBytesMax) {
      const limit = `its configuration has more than ${configOverrideBytesMax} bytes`;
      throw new InferenceError('request-too-large', `failed to load '${name}', ${limit}`);
    }
    const folder = hasFiles ? await this.#files.write(name, files) : undefined;
    const saved: SavedLoad = {
      ...(config === undefined ? {} : { config }),
      ...(folder === undefined ? {} : { folder }),
    };
    try {
      await this.#bring(name, saved);
      // What is lost with the server must not be looked for after a restart.
      if (folder === undefined || this.#files.isKept) await this.#parts.saved.putLoad(name, this.#toSave(saved));
      else await this.#parts.saved.removeLoad(name);
    } catch (error) {
      if (folder !== undefined) await this.#files.remove(folder);
      throw error;
    }
    const before = this.#folders.get(name);
    if (folder === undefined) this.#folders.delete(name);
    else this.#folders.set(name, folder);
    this.#unloaded.forget(name);
    if (before !== undefined) void this.#removeLater(before);
  }

  /** Resolves when every version of the model that is to be served is. */
  async #bring(name: string, saved: SavedLoad): Promise<void> {
    const { contents, stage, models, onUnreadable } = this.#parts;
    const { failures, read } = await this.#readingOf(name, saved);
    if (failures.length > 0) {
      // All of it or nothing: what serves goes on. A name that nobody has leaves no trace: whoever calls may make up many.
      const isKnown = saved.folder !== undefined || (await this.#parts.findPlace(name)) !== undefined;
      if (isKnown || contents.has(name)) contents.put(name, failures, undefined);
      onUnreadable(failures);
      throw new InferenceError(
        'invalid-request',
        models.callerWords(`failed to load '${name}', ${failures.map(failureReason).join('; ')}`),
      );
    }
    contents.put(name, [], read);
    // One that failed before, or is not served, is tried anew although its files are the same.
    if (contents.revisionsOf(name).some((revision) => stage.hasFailed(revision))) contents.renew(name);
    contents.apply();
    const reasons = await Promise.all(contents.revisionsOf(name).map((revision) => stage.outcomeOf(revision)));
    const reason = reasons.filter((one) => one !== '').join('; ');
    if (reason === '') return;
    throw new InferenceError('model-not-ready', models.callerWords(`load failed for model '${name}': ${reason}`));
  }

  async #unload(name: string): Promise<void> {
    const { contents, models, saved, findPlace } = this.#parts;
    const statuses = models.statuses().filter((status) => status.name === name);
    // One that could not be read has a status, too, and may have been asked for before a restart.
    if (statuses.length === 0 && !contents.has(name)) {
      if ((await findPlace(name)) === undefined) {
        throw new InferenceError('unknown-model', `failed to unload '${name}', there is no such model`);
      }
      return;
    }
    await saved.removeLoad(name);
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

  async #readingOf(name: string, saved: SavedLoad): Promise<LibraryReading> {
    const place = await this.#placeOf(name, saved);
    return 'problems' in place ? { failures: [place], read: undefined } : this.#parts.read(place);
  }

  async #placeOf(name: string, { config, folder }: SavedLoad): Promise<ModelPlace | ModelFailure> {
    const found = folder === undefined ? await this.#parts.findPlace(name) : await placeIn(name, folder);
    if (found === undefined) {
      const message = `failed to poll from model repository: there is no model ${JSON.stringify(name)}`;
      return { name, version: '', problems: [{ source: name, message }] };
    }
    if ('problems' in found || config === undefined) return found;
    return { ...found, hasConfig: true, configText: config };
  }

  /** An ensemble, and the models of its steps. */
  #withSteps(name: string, names: Set<string>): ReadonlySet<string> {
    if (names.has(name)) return names;
    names.add(name);
    for (const definition of this.#parts.contents.definitions()) {
      if (definition.name !== name) continue;
      for (const { ensemble } of definition.versions) {
        for (const step of ensemble?.plan.steps ?? []) this.#withSteps(step.model, names);
      }
    }
    return names;
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

async function placeIn(name: string, folder: string): Promise<ModelPlace | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length === 0) return undefined;
  return { name, path: folder, isSingleFile: false, hasConfig: false, versions: names.filter(isVersionName) };
}
