import type { ModelKey, RevisionId } from '@millrace/core';
import type { LoadSpec } from '@millrace/protocol';
import type { Runner } from '../../data-plane/infer.ts';
import { modelKeyFrom, ServedModel } from '../../data-plane/served-model.ts';
import { SharedModels } from '../../dispatch/shared-workers.ts';
import type { GroupWorkers } from '../../dispatch/worker-fleet.ts';
import type { GroupedModel } from '../../dispatch/worker-group.ts';
import type { EnsembleDefinition } from '../../model/ensemble-definition.ts';
import type { ModelDefinition, ModelVersionDefinition } from '../../model/model-definition.ts';
import type { ContextPlan, PlannedVersion } from './context-plan.ts';
import { loadSpecOf, type ThreadShare } from './load-spec-of.ts';

/** The runner for the requests of a model; undefined: the data plane's own queue. */
export type RunnerOf = (
  model: ServedModel,
  definition: ModelDefinition,
  version: ModelVersionDefinition,
) => Runner | undefined;

/** A version of a revision. Without a spec no worker loads it. */
export interface RevisionMember extends Omit<GroupedModel, 'spec'> {
  readonly spec: LoadSpec | undefined;
}

/** A context as it was read at one time, with the processes that hold it while it is in memory. */
export class Revision {
  readonly id: RevisionId;
  readonly members: readonly RevisionMember[];
  /** What its workers load; empty when it needs none, such as an ensemble. */
  readonly loads: readonly GroupedModel[];
  /** Replaced when only the number of workers or what clients see of the configuration changed. */
  plan: ContextPlan;
  running: GroupWorkers | undefined = undefined;
  readonly #onForgotten: (revision: Revision) => void;
  /** Counts its retirements, so that the end of a cancelled one is not mistaken for that of a later one. */
  retirements = 0;

  /** `onForgotten` is called when nothing of it is left. */
  constructor(
    id: RevisionId,
    plan: ContextPlan,
    members: readonly RevisionMember[],
    onForgotten: (revision: Revision) => void,
  ) {
    this.id = id;
    this.plan = plan;
    this.members = members;
    this.loads = members.flatMap(({ spec, ...member }) => (spec === undefined ? [] : [{ ...member, spec }]));
    this.#onForgotten = onForgotten;
  }

  /** For an ensemble: it is the only member of its context. */
  get ensemble(): EnsembleDefinition | undefined {
    return this.plan.members[0]?.version.ensemble;
  }

  get models(): readonly ServedModel[] {
    return this.members.map(({ model }) => model);
  }

  /** Nothing of it waits, runs or is in memory any more. */
  noteForgotten(): void {
    this.#onForgotten(this);
  }

  /** Whether the plan can be taken on without a new load. */
  canFollow(plan: ContextPlan): boolean {
    // A shared worker is one; for several instances it needs workers of its own.
    const fitsWorkers = plan.workers === 1 || !(this.running instanceof SharedModels);
    return this.plan.identity === plan.identity && fitsWorkers;
  }

  /** Takes on what changed without a new load: the number of workers, and what clients see of the configuration. */
  follow(plan: ContextPlan): void {
    this.plan = plan;
    for (const [index, { version }] of plan.members.entries()) {
      const model = this.members[index]?.model;
      if (model?.view.name === version.view.name && model.view.version === version.version) model.view = version.view;
    }
    this.running?.resize(plan.workers);
  }
}

/** Makes the models of a plan, with handles that were never used before and keys that no other has. */
export class RevisionMaker {
  #lastId = 0;
  #lastHandle = 0;
  /** Keys of revisions that are not forgotten: a later revision must not be mistaken for one that still drains. */
  readonly #keys = new Set<ModelKey>();
  readonly #runnerOf: RunnerOf;

  constructor(runnerOf: RunnerOf) {
    this.#runnerOf = runnerOf;
  }

  make(plan: ContextPlan, share: ThreadShare): Revision {
    this.#lastId += 1;
    const members = plan.members.map((planned) => this.#member(planned, share));
    return new Revision(this.#lastId, plan, members, ({ models }) => {
      for (const { key } of models) this.#keys.delete(key);
    });
  }

  #member({ definition, version, isUnchanged }: PlannedVersion, share: ThreadShare): RevisionMember {
    this.#lastHandle += 1;
    const isTaken = this.#keys.has(modelKeyFrom(definition.name, version.version));
    const model = new ServedModel(
      version.view,
      version.policy,
      this.#lastHandle,
      isTaken ? this.#lastHandle : 1,
      version.sequencing,
    );
    this.#keys.add(model.key);
    model.runner = this.#runnerOf(model, definition, version);
    const spec = loadSpecOf(model, definition, version, share);
    model.source = spec && { ...filesOf(spec), isUnchanged };
    return { model, spec, placements: definition.placements };
  }
}

function filesOf({ path, folder }: LoadSpec): Pick<LoadSpec, 'path' | 'folder'> {
  return folder === undefined ? { path } : { path, folder };
}
