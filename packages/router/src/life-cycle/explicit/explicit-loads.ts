/**
 * Loads and unloads by request, with or without a configuration and files of their own. What was requested
 * is remembered by requested-loads.ts, uploaded files are kept by override-files.ts and removed by load-folders.ts, and
 * each attempt is carried out by load-attempts.ts.
 */
import { InferenceError, quote } from '@millrace/protocol';
import type { MetadataStore } from '@millrace/store';
import type { ModelFailure } from '../../model/model-definition.ts';
import type { ModelLocations } from '../reading/repository-reader.ts';
import { stepNamesOf } from '../revisions/ensembles/step-views.ts';
import { loadStepsOf, withUnusedSteps } from './ensemble-steps.ts';
import { LoadAttempts, type LoadAttemptsParts } from './load-attempts.ts';
import { LoadFolders } from './load-folders.ts';
import { locationOfRequest } from './load-location.ts';
import type { LoadOverrides } from './load-overrides.ts';
import { ModelTurns } from './model-turns.ts';
import { OverrideFiles, type OverrideFilesOptions } from './override-files.ts';
import { RequestedLoads } from './requested-loads.ts';
import { type SavedLoad, SavedLoads } from './saved-loads.ts';

/** Triton's message, in both of the modes in which the repository alone decides, and what to do. */
const loadNotAllowedText =
  'explicit model load / unload is not allowed if polling is enabled; start the server with --model-control-mode explicit';

export interface ExplicitLoadsParts extends LoadAttemptsParts, OverrideFilesOptions {
  /** Whether requests decide what is loaded. */
  readonly isAllowed: boolean;
  readonly store: MetadataStore;
}

export class ExplicitLoads {
  readonly #parts: ExplicitLoadsParts;
  readonly #files: OverrideFiles;
  readonly #folders: LoadFolders;
  readonly #requested: RequestedLoads;
  readonly #attempts: LoadAttempts;
  readonly #turns = new ModelTurns();

  constructor(parts: ExplicitLoadsParts) {
    this.#parts = parts;
    this.#files = new OverrideFiles(parts);
    this.#folders = new LoadFolders(this.#files, parts.loader);
    this.#requested = new RequestedLoads(new SavedLoads(parts.store), this.#files);
    this.#attempts = new LoadAttempts(parts);
  }

  /** Versions of models that were served and were unloaded since. */
  get unloaded(): ReadonlyMap<string, readonly string[]> {
    return this.#requested.unloaded;
  }

  /**
   * Reads the models to load at the start: those requested before a restart, and `names`; `isRestart`: except those of them that
   * the process before unloaded. Returns what cannot be served.
   */
  async restore(names: readonly string[], isRestart: boolean): Promise<readonly ModelFailure[]> {
    const { contents, reader } = this.#parts;
    const loads = await this.#requested.restore(names, isRestart);
    const locations = await reader.locations();
    const failures: ModelFailure[] = [];
    // Steps of ensembles join while this goes on.
    const wanted = new Set(loads.keys());
    for (const name of wanted) {
      const load = loads.get(name) ?? {};
      const { read, failures: found } = await this.#attempts.read(name, load, locations);
      contents.put(name, found, read);
      failures.push(...found);
      this.#folders.set(name, load.folder);
      for (const step of read === undefined ? [] : stepNamesOf(read.definition)) wanted.add(step);
    }
    return failures;
  }

  /** Loads the models of an ensemble's steps first. */
  async load(name: string, overrides: LoadOverrides): Promise<void> {
    this.#mustBeAllowed();
    await this.#attempts.check(name, overrides);
    await this.#loadSteps(name, overrides);
    await this.#turns.inTurn(name, () => this.#load(name, overrides));
  }

  async unload(name: string, isWithDependents: boolean): Promise<void> {
    this.#mustBeAllowed();
    const definitions = this.#parts.contents.definitions();
    const isAsked = (step: string): boolean => this.#requested.isAsked(step);
    const names = isWithDependents ? withUnusedSteps(name, definitions, isAsked) : new Set([name]);
    for (const one of names) await this.#turns.inTurn(one, () => this.#unload(one));
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  async #load(name: string, { config, files }: LoadOverrides): Promise<void> {
    const folder = files !== undefined && files.size > 0 ? await this.#files.write(name, files) : undefined;
    try {
      const locations = await this.#parts.reader.locations();
      const load =
        folder === undefined ? await this.#requested.loadFor(name, config, locations) : { ...inConfig(config), folder };
      await this.#loadAs(name, load, locations, true);
    } catch (error) {
      if (folder !== undefined) await this.#files.remove(folder);
      throw error;
    }
    this.#folders.set(name, folder);
  }

  async #loadAs(name: string, load: SavedLoad, locations: ModelLocations, isAsked: boolean): Promise<void> {
    await this.#attempts.load(name, load, locations);
    await this.#requested.noteLoaded(name, load, isAsked);
  }

  async #loadSteps(name: string, { config, files }: LoadOverrides): Promise<void> {
    const locations = await this.#parts.reader.locations();
    const hasFiles = files !== undefined && files.size > 0;
    const load = hasFiles ? inConfig(config) : await this.#requested.loadFor(name, config, locations);
    const root = locationOfRequest(name, load.config, locations);
    const found = await loadStepsOf(root, locations, (step) => this.#loadStep(step));
    const problems = found.map((message) => ({ source: name, message }));
    if (problems.length > 0) this.#attempts.refuse(name, locations.has(name), [{ name, version: '', problems }]);
  }

  /** Why a step cannot be loaded; empty when it is. One that is loaded and whose files are the same stays as it is. */
  async #loadStep(name: string): Promise<string> {
    try {
      await this.#turns.inTurn(name, async () => {
        // Its files came with a load, so files of the same name in the repository do not count.
        if (this.#folders.has(name)) return;
        const locations = await this.#parts.reader.locations();
        await this.#loadAs(name, await this.#requested.loadFor(name, undefined, locations), locations, false);
      });
      return '';
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
      return `its step ${JSON.stringify(name)} cannot be loaded: ${error.message}`;
    }
  }

  async #unload(name: string): Promise<void> {
    const { contents, models, reader } = this.#parts;
    const statuses = models.statuses().filter((status) => status.name === name);
    // A model that could not be read has a status too, and may have been requested before a restart.
    if (statuses.length === 0 && !contents.has(name)) {
      if (!(await reader.locations()).has(name)) {
        throw new InferenceError('unknown-model', `failed to unload ${quote(name)}, there is no such model`);
      }
      return;
    }
    await this.#requested.forget(name);
    const versions = statuses.map(({ version }) => version).filter((version) => version !== '');
    if (contents.has(name)) await this.#requested.noteUnloaded(name, versions);
    contents.remove(name);
    contents.apply();
    this.#folders.set(name, undefined);
  }

  #mustBeAllowed(): void {
    if (!this.#parts.isAllowed) throw new InferenceError('load-not-allowed', loadNotAllowedText);
  }
}

function inConfig(config: string | undefined): SavedLoad {
  return config === undefined ? {} : { config };
}
