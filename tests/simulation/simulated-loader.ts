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
  add(revision: SimulatedRevision): void {
    this.#revisions.set(revision.id, revision);
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

  #perform(action: KeeperAction): void {
    if (action.kind === 'go-on' || action.kind === 'refuse') {
      this.#parts.onWaiter(action);
      return;
    }
    if (action.kind === 'wake-at') {
      this.#wakeAt(action.at);
      return;
    }
    if (action.kind === 'version-state') {
      this.#show(action);
      return;
    }
    if (action.kind === 'version-removed') {
      this.#parts.models.remove(action);
      return;
    }
    const revision = this.#revisions.get(action.revision);
    if (revision === undefined) return;
    switch (action.kind) {
      case 'load':
        this.#load(revision);
        break;
      case 'serve':
        this.#serve(revision, action.members);
        break;
      case 'retire':
        this.#retire(revision, action.why === 'evicted');
        break;
      case 'unload':
        this.#unload(revision);
        break;
      case 'forget':
        this.#revisions.delete(revision.id);
        revision.isOver = true;
        break;
      case 'failed':
        revision.isLoading = false;
        break;
      case 'set-aside':
        break;
    }
  }

  #load(revision: SimulatedRevision): void {
    const { world, router, processes } = this.#parts;
    revision.outcomes.clear();
    revision.isLoading = true;
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
        settled: () => this.tell({ kind: 'settled', revision: revision.id, residentBytes: revision.bytes }),
      },
    });
  }

  #outcome(revision: SimulatedRevision, key: ModelKey, reason: string): void {
    revision.outcomes.set(key, reason);
    const { id, bytes: residentBytes, models } = revision;
    const about = { revision: id, member: models.findIndex((one) => one.key === key), residentBytes };
    if (reason === '') this.tell({ kind: 'servable', ...about });
    else this.tell({ kind: 'unservable', ...about, reason, isFinal: false, jitter: this.#parts.world.random.next() });
  }

  #serve(revision: SimulatedRevision, members: readonly number[]): void {
    const { router } = this.#parts;
    revision.isServing = true;
    revision.isLoading = false;
    for (const member of members) {
      const { key: model, policy } = revision.models[member] as ServedModel;
      // It may have been about to retire.
      router.onIdle.delete(model);
      router.tell({ kind: 'model-added', model, policy });
    }
  }

  #show(action: Extract<KeeperAction, { kind: 'version-state' }>): void {
    const { models, referee } = this.#parts;
    const revision = action.by && this.#revisions.get(action.by.revision);
    const model = revision?.models[action.by?.member ?? 0];
    if (model === undefined) return;
    const { state } = action.status;
    models.show(action, action.status, model);
    if (state === 'ready') referee.noteServed(model);
    else if (state === 'failed') referee.noteUnservable(model);
  }

  #retire(revision: SimulatedRevision, isEvicted: boolean): void {
    const { router } = this.#parts;
    revision.isServing = false;
    revision.isOver = !isEvicted;
    revision.retirements += 1;
    const { retirements, models, id } = revision;
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
