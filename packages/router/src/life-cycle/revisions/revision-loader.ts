/**
 * Carries out what the keeper decides about revisions: load, serve, retire, unload, forget. Workers are started and
 * ended by revision-workers.ts, requests moved by revision-traffic.ts, memory measured by memory-meter.ts, and requests
 * that wait for a model held by demand-waiters.ts.
 */
import type { ContextName, KeeperConfig, KeeperEvent } from '@millrace/core';
import type { ServedModel } from '../../data-plane/served-model.ts';
import { DemandWaiters } from './demand-waiters.ts';
import { KeeperLoop, type KeeperLoopParts, type KeeperTask, type KeeperView } from './keeper-loop.ts';
import { KnownRevisions } from './known-revisions.ts';
import { MemoryMeter, type MemoryMeterParts } from './memory-meter.ts';
import { ModelSharing, type ModelSharingParts } from './model-sharing.ts';
import { OutcomeWaiters } from './outcome-waiters.ts';
import type { Revision } from './revision.ts';
import type { RevisionListener } from './revision-listener.ts';
import { RevisionTraffic, type RevisionTrafficParts } from './revision-traffic.ts';
import { RevisionWorkers, type RevisionWorkersParts } from './revision-workers.ts';

export interface RevisionLoaderParts
  extends Omit<MemoryMeterParts, 'revisions' | 'loop'>,
    Omit<RevisionTrafficParts, 'loop' | 'revisions'>,
    Omit<RevisionWorkersParts, 'loop' | 'sharing'>,
    Omit<ModelSharingParts, 'revisions'>,
    Pick<KeeperLoopParts, 'createKeeper'> {
  readonly keeper: Partial<KeeperConfig>;
  readonly listener: RevisionListener;
}

export class RevisionLoader {
  /** Where requests wait for a version that is not in memory. */
  readonly demand: DemandWaiters;
  readonly #revisions = new KnownRevisions();
  readonly #waiters = new OutcomeWaiters();
  readonly #listener: RevisionListener;
  readonly #loop: KeeperLoop;
  readonly #memory: MemoryMeter;
  readonly #traffic: RevisionTraffic;
  readonly #sharing: ModelSharing;
  readonly #workers: RevisionWorkers;

  constructor(parts: RevisionLoaderParts) {
    const { clock, roster, listener, models } = parts;
    const revisions = this.#revisions;
    const loop = new KeeperLoop({
      clock,
      config: parts.keeper,
      createKeeper: parts.createKeeper,
      use: {
        usedAt: (id) => revisions.usedAt(id),
        isInUse: (id) => revisions.take(id)?.models.some((model) => roster.isInUse(model)) ?? false,
      },
      perform: (task) => this.#perform(task),
    });
    this.#listener = listener;
    this.#loop = loop;
    this.#memory = new MemoryMeter({ ...parts, revisions, loop });
    this.#traffic = new RevisionTraffic({ ...parts, loop, revisions });
    this.#sharing = new ModelSharing({ ...parts, revisions });
    this.#workers = new RevisionWorkers({ ...parts, loop, sharing: this.#sharing });
    this.demand = new DemandWaiters({
      clock,
      contextOf: (model) => revisions.takeOf(model)?.plan.name,
      redactPaths: models.redactPaths,
      tell: (event) => {
        this.#memory.measureForDemand();
        loop.tell(event);
      },
      onLoaded: (context, waitMs) => listener.demandLoaded(context, waitMs),
    });
  }

  get keeper(): KeeperView {
    return this.#loop.keeper;
  }

  /** Loads revisions when the keeper has room for them, those of the contexts in `first` before the others. */
  want(wanted: readonly Revision[], isRetried: boolean, first: ReadonlySet<ContextName>): void {
    for (const revision of wanted) this.#revisions.add(revision);
    const revisions = wanted.map(({ id, plan, models }) => ({
      context: plan.name,
      revision: id,
      versions: models.map(({ view }) => ({ model: view.name, version: view.version })),
      bytesExpected: plan.bytesExpected,
      isRetried,
      hasOpenStreams: first.has(plan.name),
    }));
    this.tell({ kind: 'wanted', revisions });
  }

  tell(event: KeeperEvent): void {
    this.#loop.tell(event);
  }

  /** Measures every process, and lets the keeper enforce the budget. */
  measure(): Promise<void> {
    return this.#memory.measureAside();
  }

  measureEvery(pauseMs: number): void {
    this.#memory.measureEvery(pauseMs);
  }

  revisionOf(model: ServedModel): Revision | undefined {
    return this.#revisions.takeOf(model);
  }

  hasFailed(revision: Revision): boolean {
    return this.keeper.takeRevision(revision.id)?.reason !== '';
  }

  /** Another has replaced it, or it is no longer wanted. */
  isOver(revision: Revision): boolean {
    return this.keeper.takeRevision(revision.id)?.isOver ?? true;
  }

  /** Resolves when it is served, can be loaded on demand, or cannot be served; with the reason, empty when there is none. */
  outcomeOf(revision: Revision): Promise<string> {
    const kept = this.keeper.takeRevision(revision.id);
    const isUnderWay = kept?.state === 'queued' || kept?.state === 'loading';
    return isUnderWay ? this.#waiters.outcomeOf(revision) : Promise.resolve(kept?.reason ?? '');
  }

  /** Resolves when nothing is left of such revisions. */
  whenForgotten(isMeant: (revision: Revision) => boolean): Promise<void> {
    return this.#waiters.whenNoneIsLeft(() => this.#revisions.all().some(isMeant));
  }

  /** Stops all decisions; the workers are ended together with the fleet. */
  close(): void {
    this.#memory.stop();
    this.#loop.close();
    this.#sharing.stop();
    this.#traffic.stop();
  }

  #perform(task: KeeperTask): void {
    switch (task.kind) {
      case 'go-on':
        this.demand.goOn(task.waiter);
        return;
      case 'refuse':
        this.demand.refuse(task);
        return;
      case 'version-state':
        this.#traffic.show(task);
        return;
      case 'version-removed':
        this.#traffic.remove(task);
        return;
    }
    const revision = this.#revisions.take(task.revision);
    if (revision === undefined) return;
    switch (task.kind) {
      case 'load':
        this.#workers.load(revision, task.attempt);
        break;
      case 'serve':
        this.#traffic.serve(revision, task.members);
        this.#waiters.tellOutcome(revision, '');
        break;
      case 'retire':
        this.#traffic.retire(revision, task.why);
        break;
      case 'unload':
        void this.#workers.unload(revision);
        break;
      case 'failed':
        this.#noteLoadFailed(revision, task);
        this.#waiters.tellOutcome(revision, task.reason);
        break;
      case 'set-aside':
        this.#waiters.tellOutcome(revision, '');
        break;
      case 'forget':
        this.#revisions.remove(revision);
        this.#sharing.forget(revision);
        this.#traffic.forget(revision);
        this.#waiters.tellOutcome(revision, 'another load replaced it');
        this.#waiters.tellForgotten();
        break;
    }
  }

  #noteLoadFailed(
    { plan }: Revision,
    { reason, isOldServing, retryInMs }: Extract<KeeperTask, { kind: 'failed' }>,
  ): void {
    this.#listener.loadFailed({ context: plan.name, reason, isOldServing, retryInMs });
  }
}
