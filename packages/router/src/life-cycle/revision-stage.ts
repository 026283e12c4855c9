/** Carries out what the keeper decides about revisions: workers, traffic, memory; and tells it what came of it. */
import { Keeper, type KeeperAction, type KeeperConfig, type KeeperEvent, type RevisionId } from '@millrace/core';
import type { Lane } from '@millrace/protocol';
import type { ServedModels } from '../catalogue/served-models.ts';
import type { Clock } from '../data-plane/clock.ts';
import type { ModelRoster } from '../data-plane/model-roster.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerFleet } from '../dispatch/worker-fleet.ts';
import type { EnsembleDefinition } from '../model/ensemble-definition.ts';
import type { LaneName } from '../model/model-definition.ts';
import { DemandWaiters } from './demand-waiters.ts';
import { EnsembleStates } from './ensembles/ensemble-states.ts';
import type { LibraryListener } from './library-listener.ts';
import { bytesOf, type MeasureProcess } from './resident-memory.ts';
import type { Revision } from './revision.ts';

export interface RevisionStageParts {
  readonly lanes: Readonly<Record<LaneName, Lane>>;
  readonly roster: ModelRoster;
  readonly models: ServedModels;
  readonly fleet: WorkerFleet;
  readonly clock: Clock;
  /** In [0, 1): spreads attempts. */
  readonly random: () => number;
  readonly measure: MeasureProcess;
  readonly listener: LibraryListener;
  readonly keeper: Partial<KeeperConfig>;
}

/** However many wait for room, processes are not measured more often. */
const measurePauseMs = 500;

export class RevisionStage {
  readonly #parts: RevisionStageParts;
  readonly #keeper: Keeper;
  readonly #revisions = new Map<RevisionId, Revision>();
  readonly #byModel = new WeakMap<ServedModel, Revision>();
  readonly #actions: KeeperAction[] = [];
  #onOutcome: { readonly revision: Revision; readonly resolve: (reason: string) => void }[] = [];
  #onForgotten: (() => void)[] = [];
  #measuredAt = Number.NEGATIVE_INFINITY;
  #isPerforming: boolean = false;
  #cancelWake: (() => void) | undefined;
  #isClosed: boolean = false;
  /** Where requests wait for a version that is not in memory. */
  readonly demand: DemandWaiters;
  readonly #ensembles: EnsembleStates;

  constructor(parts: RevisionStageParts) {
    this.#parts = parts;
    const use = {
      usedAt: (id: RevisionId) => this.#usedAt(this.#revisions.get(id)),
      isInUse: (id: RevisionId) =>
        this.#revisions.get(id)?.models.some((model) => parts.roster.isInUse(model)) ?? false,
    };
    this.#keeper = new Keeper(use, parts.keeper);
    this.#ensembles = new EnsembleStates({
      models: parts.models,
      onReady: (model) => {
        parts.roster.add(model);
        parts.listener.modelReady(model);
      },
      onFailed: (model, reason) => parts.listener.modelFailed(model, reason),
    });
    this.demand = new DemandWaiters({
      clock: parts.clock,
      contextOf: (model) => this.#byModel.get(model)?.plan.name,
      callerWords: parts.models.callerWords,
      tell: (event) => this.#tellDemand(event),
      onLoaded: (context, waitMs) => parts.listener.demandLoaded(context, waitMs),
    });
  }

  get keeper(): Pick<Keeper, 'takeRevision' | 'isKnown' | 'isPinned' | 'usedBytes' | 'budgetBytes'> {
    return this.#keeper;
  }

  /** Makes a revision known, before it is wanted. */
  announce(revision: Revision): void {
    this.#revisions.set(revision.id, revision);
    for (const model of revision.models) this.#byModel.set(model, revision);
    for (const model of revision.models) this.#parts.models.announce(model, this.#isAwaited(revision));
  }

  /** Has a revision that was announced loaded when the keeper finds room for it. */
  want(revision: Revision, isRetried: boolean): void {
    const { name, bytesExpected } = revision.plan;
    this.tell({ kind: 'wanted', context: name, revision: revision.id, bytesExpected, isRetried });
  }

  tell(event: KeeperEvent): void {
    if (this.#isClosed) return;
    this.#keeper.handle(event, this.#parts.clock.now());
    this.#actions.push(...this.#keeper.takeActions());
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    for (let action = this.#actions.shift(); action !== undefined; action = this.#actions.shift())
      this.#perform(action);
    this.#isPerforming = false;
  }

  /** Somebody waits for room: what there is should be known, not remembered. */
  #tellDemand(event: KeeperEvent): void {
    const now = this.#parts.clock.now();
    const isStale = now - this.#measuredAt >= measurePauseMs;
    if (isStale && this.#keeper.budgetBytes !== Number.POSITIVE_INFINITY) this.measure();
    this.tell(event);
  }

  /** Looks at every process, and lets the keeper see to it that the budget holds. */
  measure(): void {
    const { measure, listener, clock } = this.#parts;
    this.#measuredAt = clock.now();
    const byModel: { model: ServedModel; bytes: number }[] = [];
    for (const revision of [...this.#revisions.values()]) {
      const { running } = revision;
      if (running === undefined || !running.isSettled) continue;
      const bytes = bytesOf(revision, running, measure);
      // What processes share is divided evenly among those who share them.
      for (const model of revision.models) byModel.push({ model, bytes: bytes / revision.members.length });
      this.tell({ kind: 'measured', revision: revision.id, residentBytes: bytes });
    }
    listener.memoryMeasured(byModel, this.#keeper.usedBytes);
  }

  revisionOf(model: ServedModel): Revision | undefined {
    return this.#byModel.get(model);
  }

  hasFailed(revision: Revision): boolean {
    return this.#keeper.takeRevision(revision.id)?.reason !== '';
  }

  /** Resolves when it is served, is ready to be on demand, or cannot be; with the reason, empty when there is none. */
  outcomeOf(revision: Revision): Promise<string> {
    const kept = this.#keeper.takeRevision(revision.id);
    const isUnderWay = kept?.state === 'queued' || kept?.state === 'loading';
    if (!isUnderWay) return Promise.resolve(kept?.reason ?? '');
    return new Promise((resolve) => {
      this.#onOutcome.push({ revision, resolve });
    });
  }

  /** Resolves when nothing is left of such revisions. */
  async whenForgotten(isMeant: (revision: Revision) => boolean): Promise<void> {
    while ([...this.#revisions.values()].some(isMeant)) {
      await new Promise<void>((resolve) => {
        this.#onForgotten.push(resolve);
      });
    }
  }

  /** Decides nothing any more: the workers are ended by whoever ends the fleet. */
  close(): void {
    this.#isClosed = true;
    this.#ensembles.stop();
    this.#cancelWake?.();
  }

  #usedAt(revision: Revision | undefined): number | undefined {
    let latest: number | undefined;
    for (const { usedAt } of revision?.models ?? []) {
      if (usedAt !== undefined && (latest === undefined || usedAt > latest)) latest = usedAt;
    }
    return latest;
  }

  #perform(action: KeeperAction): void {
    switch (action.kind) {
      case 'go-on':
        this.demand.goOn(action.waiter);
        return;
      case 'refuse':
        this.demand.refuse(action);
        return;
      case 'wake-at':
        this.#wakeAt(action.at);
        return;
    }
    const revision = this.#revisions.get(action.revision);
    if (revision === undefined) return;
    switch (action.kind) {
      case 'load':
        this.#load(revision);
        break;
      case 'serve':
        this.#serve(revision);
        this.#tellOutcome(revision, '');
        break;
      case 'retire':
        this.#retire(revision, action.why);
        break;
      case 'unload':
        void this.#unload(revision);
        break;
      case 'failed':
        this.#failed(revision, action);
        this.#tellOutcome(revision, action.reason);
        break;
      case 'set-aside':
        this.#tellOutcome(revision, '');
        for (const model of revision.models) this.#parts.models.setAside(model);
        break;
      case 'forget':
        this.#forget(revision);
        this.#tellOutcome(revision, 'another load took its place');
        for (const listener of this.#onForgotten.splice(0)) listener();
        break;
    }
  }

  /** Under a budget models come when they are asked for, the first time too; one without workers is there at once. */
  #isAwaited(revision: Revision): boolean {
    return this.#keeper.budgetBytes !== Number.POSITIVE_INFINITY && revision.loads.length > 0;
  }

  #tellOutcome(revision: Revision, reason: string): void {
    const told = this.#onOutcome.filter((one) => one.revision === revision);
    if (told.length === 0) return;
    this.#onOutcome = this.#onOutcome.filter((one) => one.revision !== revision);
    for (const { resolve } of told) resolve(reason);
  }

  #load(revision: Revision): void {
    const { fleet, lanes, models, listener } = this.#parts;
    const { name, lane, workers } = revision.plan;
    revision.outcomes.clear();
    revision.misfits.clear();
    listener.loadStarted(name);
    for (const model of revision.models) models.announce(model, this.#isAwaited(revision));
    if (revision.loads.length === 0) {
      this.tell({ kind: 'loaded', revision: revision.id, residentBytes: 0 });
      return;
    }
    revision.running = fleet.add({
      name,
      lane: lanes[lane],
      workers,
      models: revision.loads,
      listener: {
        modelServable: (model) => this.#servable(revision, model),
        modelUnservable: (model, reason, isFinal) => this.#unservable(revision, model, reason, isFinal),
        settled: () => this.#settled(revision),
      },
    });
  }

  #servable(revision: Revision, model: ServedModel): void {
    revision.outcomes.set(model, '');
    if (revision.isServing) this.#takeTraffic(model);
    else this.#endLoad(revision);
  }

  #unservable(revision: Revision, model: ServedModel, reason: string, isFinal: boolean): void {
    revision.outcomes.set(model, reason);
    if (isFinal) revision.misfits.add(model);
    if (revision.isServing) this.#reportFailed(model, reason);
    else this.#endLoad(revision);
  }

  #settled(revision: Revision): void {
    if (!revision.isServing) this.#endLoad(revision);
    const { running } = revision;
    if (!revision.isServing || running === undefined) return;
    const residentBytes = bytesOf(revision, running, this.#parts.measure);
    this.tell({ kind: 'measured', revision: revision.id, residentBytes });
  }

  /** Tells the keeper how the load went, once that can be told. */
  #endLoad(revision: Revision): void {
    const { running, outcomes, members, models } = revision;
    const isLoading = this.#keeper.takeRevision(revision.id)?.state === 'loading';
    if (running === undefined || !isLoading || outcomes.size < members.length) return;
    const failed = models.filter((model) => outcomes.get(model) !== '');
    const isServed = ({ view }: ServedModel) => this.#parts.models.takeServed(view.name, view.version) !== undefined;
    // What serves already must not be lost to a neighbour's new files.
    if (failed.length === members.length || failed.some(isServed)) {
      const reason = failed.map((model) => reasonOf(model, outcomes.get(model) ?? '', members.length)).join('; ');
      const isFinal = failed.every((model) => revision.misfits.has(model));
      this.tell({ kind: 'load-failed', revision: revision.id, reason, jitter: this.#parts.random(), isFinal });
      return;
    }
    // Traffic moves when as many hands are there as before, not to the first of them.
    const hasPredecessor = models.some(({ view }) => this.#parts.models.takeServed(view.name, '') !== undefined);
    if (hasPredecessor && !running.isSettled) return;
    const residentBytes = bytesOf(revision, running, this.#parts.measure);
    this.tell({ kind: 'loaded', revision: revision.id, residentBytes });
  }

  #serve(revision: Revision): void {
    revision.isServing = true;
    const { ensemble } = revision;
    if (ensemble !== undefined) {
      this.#serveEnsemble(revision.models[0] as ServedModel, ensemble);
      return;
    }
    for (const model of revision.models) {
      const reason = revision.outcomes.get(model) ?? '';
      if (reason !== '') {
        this.#reportFailed(model, reason);
      } else {
        // It may have been about to retire.
        this.#parts.roster.add(model);
        this.#takeTraffic(model);
      }
    }
  }

  /** Its state follows its steps from now on. */
  #serveEnsemble(model: ServedModel, ensemble: EnsembleDefinition): void {
    this.#parts.models.replace(model);
    this.#ensembles.add(model, ensemble);
  }

  #takeTraffic(model: ServedModel): void {
    this.#parts.models.serve(model);
    this.#parts.listener.modelReady(model);
  }

  #reportFailed(model: ServedModel, reason: string): void {
    this.#parts.models.setState(model, 'failed', reason);
    this.#parts.listener.modelFailed(model, reason);
  }

  #retire(revision: Revision, why: 'replaced' | 'unwanted' | 'evicted'): void {
    const { models, listener, roster } = this.#parts;
    revision.isServing = false;
    revision.isOver = why !== 'evicted';
    revision.retirements += 1;
    const { retirements } = revision;
    for (const model of revision.models) {
      this.#ensembles.remove(model);
      if (why === 'evicted') {
        models.setAside(model);
        listener.modelEvicted(model);
      } else {
        if (models.takeModel(model.view.name, model.view.version) === model) {
          models.setState(model, 'unloading', 'it is being unloaded');
        }
        listener.modelRetired(model, why);
      }
    }
    void Promise.all(revision.models.map((model) => roster.retire(model))).then(() => {
      if (revision.retirements === retirements) this.tell({ kind: 'idle', revision: revision.id });
    });
  }

  async #unload(revision: Revision): Promise<void> {
    const { running } = revision;
    revision.running = undefined;
    if (running !== undefined) await this.#parts.fleet.remove(running);
    else for (const model of revision.models) this.#parts.roster.remove(model);
    this.tell({ kind: 'unloaded', revision: revision.id });
  }

  #failed(revision: Revision, action: Extract<KeeperAction, { kind: 'failed' }>): void {
    const { reason, isOldServing, retryInMs } = action;
    this.#parts.listener.loadFailed({ context: revision.plan.name, reason, isOldServing, retryInMs });
    for (const model of revision.models) {
      const why = revision.outcomes.get(model) || reason;
      const isServed = this.#parts.models.takeServed(model.view.name, model.view.version) !== undefined;
      if (isServed) this.#parts.models.noteReplacementFailed(model, why);
      else this.#reportFailed(model, why);
    }
  }

  #forget(revision: Revision): void {
    this.#revisions.delete(revision.id);
    revision.noteForgotten();
    for (const model of revision.models) {
      const { name, version } = model.view;
      model.runner?.forget?.();
      if (this.#parts.models.remove(model)) this.#parts.listener.modelForgotten(name, version);
    }
  }

  #wakeAt(at: number): void {
    const { clock } = this.#parts;
    this.#cancelWake?.();
    this.#cancelWake = clock.alarm(Math.max(0, at - clock.now()), () => this.tell({ kind: 'tick' }));
  }
}

function reasonOf(model: ServedModel, reason: string, members: number): string {
  return members === 1 ? reason : `${model.view.name} version ${model.view.version}: ${reason}`;
}
