/**
 * Carries out the keeper's decisions about contexts, with simulated workers and the real catalogue, and reports the
 * outcomes to it. The router's loader of revisions without promises.
 */
import type { KeeperAction, KeeperEvent, ModelKey, RevisionId, WorkerId } from '@millrace/core';
import type { ServedModel, ServedModels } from '@millrace/router/catalogue';
import type { SimulatedContext } from './layout.ts';
import type { LibraryReferee } from './library-referee.ts';
import type { Router } from './router.ts';
import type { SimulatedWorker, SimulatedWorld } from './simulated-worker.ts';
import type { SimulatedKeeper } from './simulation.ts';
import { SimulatedWorkerGroup } from './worker-group.ts';

export interface SimulatedRevision {
  readonly id: RevisionId;
  readonly context: SimulatedContext;
  readonly models: readonly ServedModel[];
  /** Its memory once it is loaded. */
  readonly bytes: number;
  group: SimulatedWorkerGroup | undefined;
  isLoading: boolean;
  isServing: boolean;
  /** It is being retired, or has been. */
  isOver: boolean;
  retirements: number;
  /** By model: why it could not be loaded, empty when it could. */
  readonly outcomes: Map<ModelKey, string>;
}

export type WaiterAnswer = Extract<KeeperAction, { kind: 'go-on' | 'refuse' }>;

export interface SimulatedLoaderParts {
  readonly world: SimulatedWorld;
  readonly router: Router;
  readonly models: ServedModels;
  readonly keeper: SimulatedKeeper;
  readonly referee: LibraryReferee;
  readonly processes: Map<WorkerId, SimulatedWorker>;
  readonly onWaiter: (action: WaiterAnswer) => void;
}

export class SimulatedLoader {
  readonly #parts: SimulatedLoaderParts;
  readonly #revisions = new Map<RevisionId, SimulatedRevision>();
  readonly #actions: KeeperAction[] = [];
  #isPerforming: boolean = false;
  #workerCount = 0;
  #wakeUp = 0;

  constructor(parts: SimulatedLoaderParts) {
    this.#parts = parts;
  }

  revisions(): readonly SimulatedRevision[] {
    return [...this.#revisions.values()];
  }

  /** Makes a revision known, before it is wanted. */
  announce(revision: SimulatedRevision): void {
    this.#revisions.set(revision.id, revision);
    for (const model of revision.models) this.#parts.models.announce(model, this.#isAwaited);
  }

  /** What the keeper reads. */
  usedAt(id: RevisionId): number | undefined {
    const used = (this.#revisions.get(id)?.models ?? []).flatMap(({ usedAt }) => usedAt ?? []);
    return used.length === 0 ? undefined : Math.max(...used);
  }

  keysOf(id: RevisionId): readonly ModelKey[] {
    return this.#revisions.get(id)?.models.map(({ key }) => key) ?? [];
  }

  tell(event: KeeperEvent): void {
    const { world, keeper, referee, router } = this.#parts;
    const { nowMs } = world.timeline;
    router.note('keeper is told', event);
    router.count(`to keeper: ${event.kind}`);
    if (event.kind === 'tick') referee.noteTick();
    keeper.handle(event, nowMs);
    const actions = keeper.takeActions();
    for (const action of actions) {
      router.note('keeper says', action);
      router.count(action.kind === 'refuse' ? `keeper: refuse ${action.code}` : `keeper: ${action.kind}`);
    }
    referee.judge(event, actions, nowMs);
    this.#actions.push(...actions);
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    for (let action = this.#actions.shift(); action !== undefined; action = this.#actions.shift()) {
      this.#perform(action);
    }
    this.#isPerforming = false;
  }

  /** Under a budget models come when they are asked for, the first time too. */
  get #isAwaited(): boolean {
    return this.#parts.world.weather.budgetBytes !== Number.POSITIVE_INFINITY;
  }

  #perform(action: KeeperAction): void {
    if (action.kind === 'go-on' || action.kind === 'refuse') {
      this.#parts.onWaiter(action);
      return;
    }
    if (action.kind === 'wake-at') {
      this.#wakeAt(action.at);
      return;
    }
    const revision = this.#revisions.get(action.revision);
    if (revision === undefined) return;
    const { models } = this.#parts;
    switch (action.kind) {
      case 'load':
        this.#load(revision);
        break;
      case 'serve':
        this.#serve(revision);
        break;
      case 'retire':
        this.#retire(revision, action.why === 'evicted');
        break;
      case 'unload':
        this.#unload(revision);
        break;
      case 'failed':
        for (const model of revision.models) {
          if (models.takeServed(model.view.name, model.view.version) !== undefined) continue;
          this.#fail(model, revision.outcomes.get(model.key) || action.reason);
        }
        break;
      case 'set-aside':
        for (const model of revision.models) models.setAside(model);
        break;
      case 'forget':
        this.#revisions.delete(revision.id);
        revision.isOver = true;
        for (const model of revision.models) models.remove(model);
        break;
    }
  }

  #load(revision: SimulatedRevision): void {
    const { world, router, models, processes } = this.#parts;
    revision.outcomes.clear();
    revision.isLoading = true;
    for (const model of revision.models) models.announce(model, this.#isAwaited);
    revision.group = new SimulatedWorkerGroup({
      world,
      models: revision.models,
      workers: revision.context.workers,
      isConcurrent: revision.context.isConcurrent,
      tell: (event) => router.tell(event),
      processes,
      nextWorker: () => {
        this.#workerCount += 1;
        return this.#workerCount;
      },
      listener: {
        losing: (key) => this.#parts.referee.noteLosing(key),
        servable: (key) => this.#outcome(revision, key, ''),
        unservable: (key, reason) => this.#outcome(revision, key, reason),
        settled: () => this.#endLoad(revision),
      },
    });
  }

  #outcome(revision: SimulatedRevision, key: ModelKey, reason: string): void {
    revision.outcomes.set(key, reason);
    const model = revision.models.find((one) => one.key === key) as ServedModel;
    if (!revision.isServing) this.#endLoad(revision);
    else if (reason === '') this.#takeTraffic(model);
    else this.#fail(model, reason);
  }

  /** Tells the keeper how the load went, once that can be told. */
  #endLoad(revision: SimulatedRevision): void {
    const { world, models: catalogue } = this.#parts;
    const { group, outcomes, models, id } = revision;
    if (!revision.isLoading || group === undefined || outcomes.size < models.length) return;
    const failed = models.filter(({ key }) => outcomes.get(key) !== '');
    const isServed = ({ view }: ServedModel) => catalogue.takeServed(view.name, view.version) !== undefined;
    if (failed.length === models.length || failed.some(isServed)) {
      revision.isLoading = false;
      this.tell({ kind: 'load-failed', revision: id, reason: 'it failed', jitter: world.random.next() });
      return;
    }
    const hasPredecessor = models.some(({ view }) => catalogue.takeServed(view.name, '') !== undefined);
    if (hasPredecessor && !group.isSettled) return;
    revision.isLoading = false;
    this.tell({ kind: 'loaded', revision: id, residentBytes: revision.bytes });
  }

  #serve(revision: SimulatedRevision): void {
    const { router } = this.#parts;
    revision.isServing = true;
    for (const model of revision.models) {
      const reason = revision.outcomes.get(model.key) ?? '';
      if (reason !== '') {
        this.#fail(model, reason);
        continue;
      }
      // It may have been about to retire.
      router.onIdle.delete(model.key);
      router.tell({ kind: 'model-added', model: model.key, policy: model.policy });
      this.#takeTraffic(model);
    }
  }

  #takeTraffic(model: ServedModel): void {
    this.#parts.models.serve(model);
    this.#parts.referee.noteServed(model);
  }

  #fail(model: ServedModel, reason: string): void {
    this.#parts.models.setState(model, 'failed', reason);
    this.#parts.referee.noteUnservable(model);
  }

  #retire(revision: SimulatedRevision, isEvicted: boolean): void {
    const { models: catalogue, router } = this.#parts;
    revision.isServing = false;
    revision.isOver = !isEvicted;
    revision.retirements += 1;
    const { retirements, models, id } = revision;
    for (const model of models) {
      const { name, version } = model.view;
      if (isEvicted) catalogue.setAside(model);
      else if (catalogue.takeModel(name, version) === model) catalogue.setState(model, 'unloading', 'it goes');
    }
    let left = models.length;
    for (const { key } of models) {
      router.onIdle.set(key, () => {
        left -= 1;
        if (left === 0 && revision.retirements === retirements) this.tell({ kind: 'idle', revision: id });
      });
      router.tell({ kind: 'model-retired', model: key });
    }
  }

  #unload(revision: SimulatedRevision): void {
    const { group, id } = revision;
    revision.group = undefined;
    revision.isLoading = false;
    if (group === undefined) throw new Error(`revision ${id} is unloaded, but not in memory`);
    group.stop(() => {
      this.#parts.referee.noteUnloaded(id);
      this.tell({ kind: 'unloaded', revision: id });
    });
  }

  #wakeAt(at: number): void {
    this.#wakeUp += 1;
    const wakeUp = this.#wakeUp;
    this.#parts.world.timeline.at(at, () => {
      if (wakeUp === this.#wakeUp) this.tell({ kind: 'tick' });
    });
  }
}
