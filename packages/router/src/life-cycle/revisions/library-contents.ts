/**
 * Owns what should be served: what was last read of every model, and which revision represents each context. `apply`
 * has the loader load what is new and unload what is no longer wanted.
 */
import type { ContextName, ModelKey } from '@millrace/core';
import type { ServedModels } from '../../catalogue/served-models.ts';
import { failureReason } from '../../model/failure-reason.ts';
import type { ModelDefinition, ModelFailure } from '../../model/model-definition.ts';
import type { ReadDefinition } from '../reading/repository-reader.ts';
import { type ContextPlan, plansFrom } from './context-plan.ts';
import type { ThreadShare } from './load-spec-of.ts';
import { type Revision, RevisionMaker, type RunnerOf } from './revision.ts';
import type { RevisionLoader } from './revision-loader.ts';
import { contextsOf } from './streamed-contexts.ts';

export interface LibraryContentsParts {
  readonly models: ServedModels;
  readonly loader: RevisionLoader;
  readonly runnerOf: RunnerOf;
  /** How the cores are divided among these models. */
  readonly share: (definitions: readonly ModelDefinition[]) => ThreadShare;
  /** A load that fails, and may succeed later, is tried again. */
  readonly isRetried: boolean;
  /** Whether an operator pinned the version. */
  readonly isPinned: (model: string, version: string) => boolean;
}

/** What should be served, and which revision represents each context. */
export class LibraryContents {
  readonly #parts: LibraryContentsParts;
  readonly #maker: RevisionMaker;
  /** By model: what was last read of it, including versions read earlier that can no longer be read. */
  readonly #read = new Map<string, readonly ReadDefinition[]>();
  /** Models all of whose versions could be read. Told with the next `apply`, so that they are known all the time. */
  readonly #readable = new Set<string>();
  /** By context: the revision that is wanted now. */
  readonly #wanted = new Map<ContextName, Revision>();
  /** Contexts whose present revision is replaced although nothing was read anew. */
  readonly #moving = new Set<ContextName>();
  /** Revisions that are unloaded as soon as others serve instead of them. */
  readonly #leaving = new Map<ContextName, Revision>();

  constructor(parts: LibraryContentsParts) {
    this.#parts = parts;
    this.#maker = new RevisionMaker(parts.runnerOf);
  }

  definitions(): readonly ModelDefinition[] {
    return [...this.#read.values()].flatMap((read) => read.map(({ definition }) => definition));
  }

  has(model: string): boolean {
    return this.#read.has(model);
  }

  /** Keeps what was read earlier of versions that cannot be read now: they continue to be served. */
  put(name: string, failures: readonly ModelFailure[], read: ReadDefinition | undefined): void {
    const failed = new Set(failures.map(({ version }) => version));
    const before = this.#read.get(name) ?? [];
    const kept = before.map((old) => (read === undefined ? old : restrictedTo(old, failed)));
    const all = [...kept, ...(read === undefined ? [] : [read])].filter(
      ({ definition }) => definition.versions.length > 0,
    );
    if (all.length > 0) this.#read.set(name, all);
    const reasons = failures.map((failure) => ({ version: failure.version, reason: failureReason(failure) }));
    if (reasons.length === 0 && read !== undefined) this.#readable.add(name);
    else this.#parts.loader.tell({ kind: 'unreadable', model: name, versions: reasons });
  }

  remove(name: string): void {
    this.#read.delete(name);
    this.#parts.loader.tell({ kind: 'unreadable', model: name, versions: [] });
  }

  /** Reloads every revision of the model, whether or not anything changed. */
  renew(name: string): void {
    const renewed = (this.#read.get(name) ?? []).map((read) => ({ ...read, generation: read.generation + 1 }));
    if (renewed.length > 0) this.#read.set(name, renewed);
  }

  /** Replaces the revision of a context by one that is loaded anew. */
  move(name: ContextName): void {
    this.#moving.add(name);
    this.apply();
  }

  /** The revisions that represent a model. */
  revisionsOf(name: string): readonly Revision[] {
    return [...this.#wanted.values()].filter(({ models }) => models.some(({ view }) => view.name === name));
  }

  /** The revision that represents a version; undefined when there is none. */
  revisionOf(name: string, version: string): Revision | undefined {
    return this.revisionsOf(name).find(({ models }) =>
      models.some(({ view }) => view.name === name && view.version === version),
    );
  }

  /** Brings the wanted revisions in line with what was read. `streamed`: versions that open streams wait for. */
  apply(streamed?: ReadonlySet<ModelKey>): void {
    const { loader, isRetried } = this.#parts;
    const read = [...this.#read.keys()].sort(compareText).flatMap((name) => this.#read.get(name) ?? []);
    const plans = plansFrom(read);
    const share = this.#parts.share(read.map(({ definition }) => definition));
    const fresh: Revision[] = [];
    for (const plan of plans.values()) this.#follow(plan, share, fresh);
    const first = streamed === undefined ? noContexts : contextsOf(streamed, plans);
    if (fresh.length > 0) loader.want(fresh, isRetried, first);
    this.#moving.clear();
    for (const name of this.#readable) loader.tell({ kind: 'unreadable', model: name, versions: [] });
    this.#readable.clear();
    for (const plan of plans.values()) this.#pin(plan);
    for (const [name, revision] of this.#wanted) {
      if (plans.has(name)) continue;
      this.#wanted.delete(name);
      this.#leaving.set(name, revision);
    }
    for (const [name, revision] of this.#leaving) {
      // Repeated each time: the revision it waits for may have been removed without ever having served.
      if (loader.isOver(revision)) this.#leaving.delete(name);
      else loader.tell({ kind: 'unwanted', context: name, after: successorsOf(revision, plans.values()) });
    }
  }

  #follow(plan: ContextPlan, share: ThreadShare, fresh: Revision[]): void {
    const { loader } = this.#parts;
    const { name } = plan;
    const known = this.#wanted.get(name) ?? this.#leaving.get(name);
    this.#leaving.delete(name);
    const isThere = known !== undefined && !loader.isOver(known) && loader.keeper.isKnown(name);
    if (isThere && known.canFollow(plan) && !this.#moving.has(name)) {
      this.#wanted.set(name, known);
      known.follow(plan);
      loader.tell({ kind: 'kept', context: name });
    } else {
      const revision = this.#maker.make(plan, share);
      this.#wanted.set(name, revision);
      fresh.push(revision);
    }
  }

  #pin({ name, members }: ContextPlan): void {
    const { loader, isPinned } = this.#parts;
    const isAnyPinned = members.some(({ definition, version }) => isPinned(definition.name, version.version));
    if (isAnyPinned !== loader.keeper.isPinned(name))
      loader.tell({ kind: 'pinned', context: name, isPinned: isAnyPinned });
  }
}

/** The contexts that will serve the same models: the old one is unloaded after all of them are loaded. */
function successorsOf(revision: Revision, plans: Iterable<ContextPlan>): readonly ContextName[] {
  const models = new Set(revision.models.map(({ view }) => view.name));
  const successors: ContextName[] = [];
  for (const { name, members } of plans) {
    if (members.some(({ definition }) => models.has(definition.name))) successors.push(name);
  }
  return successors;
}

function restrictedTo(read: ReadDefinition, versions: ReadonlySet<string>): ReadDefinition {
  const { definition } = read;
  const kept = definition.versions.filter(({ version }) => versions.has(version));
  return { ...read, definition: { ...definition, versions: kept } };
}

const noContexts: ReadonlySet<ContextName> = new Set();

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
