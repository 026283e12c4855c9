/** One attempt to load a model: checks whether it may be loaded, reads it, has it served and waits for the outcome. */
import { InferenceError, quote } from '@millrace/protocol';
import type { ServedModels } from '../../catalogue/served-models.ts';
import { failureReason } from '../../model/failure-reason.ts';
import type { ModelDefinition, ModelFailure } from '../../model/model-definition.ts';
import type { LibraryReading, ModelLocations, RepositoryReader } from '../reading/repository-reader.ts';
import { stepFailures } from '../revisions/ensembles/step-views.ts';
import type { LibraryContents } from '../revisions/library-contents.ts';
import type { RevisionLoader } from '../revisions/revision-loader.ts';
import { checkLoad } from './check-load.ts';
import { locationOfLoad } from './load-location.ts';
import type { LoadOverrides } from './load-overrides.ts';
import type { SavedLoad } from './saved-loads.ts';
import { UploadedCode } from './uploaded-code.ts';

export interface LoadAttemptsParts {
  /** Whether loads may bring pipelines and other files that are executed. */
  readonly isUploadedCodeAllowed: boolean;
  readonly reader: RepositoryReader;
  readonly contents: LibraryContents;
  readonly loader: RevisionLoader;
  readonly models: ServedModels;
  /** Called with what keeps a model from being loaded. */
  readonly onUnreadable: (failures: readonly ModelFailure[]) => void;
}

export class LoadAttempts {
  readonly #parts: LoadAttemptsParts;
  readonly #code: UploadedCode;

  constructor(parts: LoadAttemptsParts) {
    this.#parts = parts;
    this.#code = new UploadedCode(parts.isUploadedCodeAllowed);
  }

  /** Throws for a load that is invalid or not allowed, before anything of it is written. */
  async check(name: string, overrides: LoadOverrides): Promise<void> {
    checkLoad(name, overrides);
    await this.#code.refuse(name, overrides, () => this.#parts.reader.locations());
  }

  async read(name: string, load: SavedLoad, locations: ModelLocations): Promise<LibraryReading> {
    const location = await locationOfLoad(name, load, locations);
    if ('problems' in location) return { failures: [location], read: undefined };
    const message = await this.#code.problemOf(location, load, locations);
    if (message === undefined) return this.#parts.reader.read(location);
    return { failures: [{ name, version: '', problems: [{ source: name, message }] }], read: undefined };
  }

  /** Resolves when every version of the model that is to be served is. */
  async load(name: string, load: SavedLoad, locations: ModelLocations): Promise<void> {
    const { contents, loader, models } = this.#parts;
    const reading = await this.read(name, load, locations);
    const { read } = reading;
    const failures = [...reading.failures, ...(read === undefined ? [] : stepFailures(models, read.definition))];
    if (failures.length > 0) this.refuse(name, load.folder !== undefined || locations.has(name), failures);
    contents.put(name, [], read);
    // A model that failed before, or is not served, is loaded again although its files are the same.
    if (contents.revisionsOf(name).some((revision) => loader.hasFailed(revision))) contents.renew(name);
    contents.apply();
    const reason = await this.#outcomeOf(name, read?.definition);
    if (reason === '') return;
    throw new InferenceError('model-not-ready', models.redactPaths(`load failed for model ${quote(name)}: ${reason}`));
  }

  /** All or nothing: on failure the served versions continue. An unknown name is not recorded, because callers may invent many. */
  refuse(name: string, isKnown: boolean, failures: readonly ModelFailure[]): never {
    const { contents, models, onUnreadable } = this.#parts;
    if (isKnown || contents.has(name)) contents.put(name, failures, undefined);
    onUnreadable(failures);
    throw new InferenceError(
      'invalid-request',
      models.redactPaths(`failed to load ${quote(name)}, ${failures.map(failureReason).join('; ')}`),
    );
  }

  /** Why it cannot be served; empty when it is. */
  async #outcomeOf(name: string, definition: ModelDefinition | undefined): Promise<string> {
    const { contents, loader, models } = this.#parts;
    const reasons = await Promise.all(contents.revisionsOf(name).map((revision) => loader.outcomeOf(revision)));
    // A model without instances has no load that could fail: its state says whether it can be served.
    const isLoaded = definition?.instanceCount !== 0;
    const failed = models.statuses().filter((status) => status.name === name && status.state === 'failed');
    const all = isLoaded ? reasons : [...reasons, ...failed.map((status) => status.reason)];
    return all.filter((one) => one !== '').join('; ');
  }
}
