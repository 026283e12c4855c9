/**
 * Owns what is served: reads the repository, decides with the keeper what is in memory, and has it loaded, served,
 * drained and unloaded. Both the server and the embedding API stand on it.
 */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import { warnOfSteps } from '../ensemble/warn-of-steps.ts';
import { failureReason } from '../failure-reason.ts';
import type { ThreadShare } from '../load-spec-of.ts';
import type { ModelDefinition, ModelFailure } from '../model-definition.ts';
import { type ReadModelOptions, readModel } from '../read-model.ts';
import { findAllModels } from '../repository.ts';
import type { ModelPlace } from '../repository-layout.ts';
import { plansFrom, type ReadDefinition } from './context-plan.ts';
import { printOf } from './fingerprint.ts';
import { type Revision, RevisionMaker, type RunnerOf } from './revision.ts';
import { RevisionStage, type RevisionStageParts } from './revision-stage.ts';

export interface ModelLibraryParts extends RevisionStageParts {
  /** Model repositories and single files. */
  readonly paths: readonly string[];
  readonly reading: ReadModelOptions;
  /** How the cores are divided among these models. */
  readonly runnerOf: RunnerOf;
  readonly share: (definitions: readonly ModelDefinition[]) => ThreadShare;
}

export class ModelLibrary {
  readonly #parts: ModelLibraryParts;
  readonly #stage: RevisionStage;
  readonly #maker: RevisionMaker;
  /** By model: what was last read of it, and of what was read before whatever cannot be read any more. */
  readonly #read = new Map<string, readonly ReadDefinition[]>();
  /** By context: the revision that is wanted now. */
  readonly #wanted = new Map<string, Revision>();
  /** Those that go as soon as others serve in their place. */
  readonly #leaving = new Map<string, Revision>();
  readonly #failures: ModelFailure[] = [];

  private constructor(parts: ModelLibraryParts) {
    this.#parts = parts;
    this.#stage = new RevisionStage(parts);
    this.#maker = new RevisionMaker(parts.runnerOf);
    parts.dataPlane.setDemand(this.#stage.demand);
  }

  /** Reads the repository. Rejects with a `ConfigError` when the paths that were given are no good. */
  static async open(parts: ModelLibraryParts): Promise<ModelLibrary> {
    const library = new ModelLibrary(parts);
    const found = await findAllModels(parts.paths);
    if (found.problems.length > 0) throw new ConfigError(found.problems);
    for (const warning of found.warnings) parts.listener.repositoryWarned(warning);
    for (const failure of found.failures) library.#take(failure.name, [failure], undefined);
    for (const place of found.places) await library.#readPlace(place);
    for (const warning of warnOfSteps(library.#definitions())) parts.listener.repositoryWarned(warning);
    return library;
  }

  /** What could not be read, in the words of `ConfigError`. */
  get problems(): readonly ConfigProblem[] {
    return this.#failures.flatMap(({ problems }) => problems);
  }

  /** Begins to load. */
  start(): void {
    this.#apply();
    void this.settled().then(() => this.#parts.models.endStart());
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
    this.#stage.close();
    this.#stage.demand.refuseAll();
  }

  async #readPlace(place: ModelPlace): Promise<void> {
    // Looked at before it is read: what changes meanwhile is seen as a change, not missed.
    const print = await printOf(place);
    const reading = await readModel(place, this.#parts.reading);
    for (const warning of reading.warnings) this.#parts.listener.repositoryWarned(warning);
    const read = reading.definition && { definition: reading.definition, print, generation: 0 };
    this.#take(place.name, reading.failures, read);
  }

  /** What was read before of versions that cannot be read now is kept: they are served on. */
  #take(name: string, failures: readonly ModelFailure[], read: ReadDefinition | undefined): void {
    this.#failures.push(...failures);
    const failed = new Set(failures.map(({ version }) => version));
    const before = this.#read.get(name) ?? [];
    const kept = before.map((old) => (read === undefined ? old : restrictedTo(old, failed)));
    const all = [...kept, ...(read === undefined ? [] : [read])].filter(
      ({ definition }) => definition.versions.length > 0,
    );
    if (all.length > 0) this.#read.set(name, all);
    this.#parts.models.setFailures(
      name,
      failures.map((failure) => ({ version: failure.version, reason: failureReason(failure) })),
    );
  }

  #definitions(): readonly ModelDefinition[] {
    return [...this.#read.values()].flatMap((read) => read.map(({ definition }) => definition));
  }

  /** Makes what is wanted what was read. */
  #apply(): void {
    const read = [...this.#read.keys()].sort().flatMap((name) => this.#read.get(name) ?? []);
    const plans = plansFrom(read);
    const share = this.#parts.share(read.map(({ definition }) => definition));
    for (const [name, plan] of plans) {
      const known = this.#wanted.get(name) ?? this.#leaving.get(name);
      this.#leaving.delete(name);
      if (known?.plan.identity === plan.identity && !known.isOver) {
        this.#wanted.set(name, known);
        known.follow(plan);
        this.#stage.tell({ kind: 'kept', context: name });
        continue;
      }
      const revision = this.#maker.make(plan, share);
      this.#wanted.set(name, revision);
      this.#stage.want(revision, true);
    }
    for (const [name, revision] of this.#wanted) {
      if (plans.has(name)) continue;
      const models = new Set(revision.models.map(({ view }) => view.name));
      const after = [...plans.values()].filter(({ members }) =>
        members.some(({ definition }) => models.has(definition.name)),
      );
      this.#wanted.delete(name);
      this.#leaving.set(name, revision);
      this.#stage.tell({ kind: 'unwanted', context: name, after: after.map((plan) => plan.name) });
    }
  }
}

function restrictedTo(
  { definition, print, generation }: ReadDefinition,
  versions: ReadonlySet<string>,
): ReadDefinition {
  const kept = definition.versions.filter(({ version }) => versions.has(version));
  return { definition: { ...definition, versions: kept }, print, generation };
}
