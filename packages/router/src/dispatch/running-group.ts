/**
 * A group with its workers: carries out what its keeper decides (packages/core/src/life-cycle/group-keeper.ts), and tells
 * it what the workers do. It reports to the data plane, the fleet's listener and the group's own.
 */
import { type GroupAction, type GroupEvent, GroupKeeper, type ModelKey, type WorkerId } from '@millrace/core';
import type { Lane } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';
import type { ModelRoster } from '../data-plane/model-roster.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import { type InstancePlacement, takePlacementAt } from '../model/instance-placements.ts';
import type { FleetListener } from './fleet-listener.ts';
import { OpenWorker, type OpenWorkerGroup } from './open-worker.ts';
import type { GroupedModel, WorkerGroup } from './worker-group.ts';

export interface FleetParts {
  readonly workers: WorkerEvents;
  readonly roster: Pick<ModelRoster, 'add' | 'remove'>;
  readonly clock: Clock;
  /** In [0, 1): jitter of restarts and retries. */
  readonly random: () => number;
  /** A worker whose loads have not ended, in success or failure, within this time is killed. */
  readonly loadMsMax: number;
  readonly listener: FleetListener;
}

/** A worker as operators see it. */
export interface FleetWorker {
  readonly worker: WorkerId;
  /** Undefined where it has no process of its own, or none at the moment. */
  readonly pid: number | undefined;
  /** The models of its group with their placements; it may still be loading them. */
  readonly models: readonly { readonly model: ServedModel; readonly placement: InstancePlacement | undefined }[];
}

export class RunningGroup implements OpenWorkerGroup {
  readonly group: WorkerGroup;
  readonly #parts: FleetParts;
  readonly #keeper: GroupKeeper;
  readonly #models: ReadonlyMap<ModelKey, GroupedModel>;
  /** Those whose process has not exited, including workers that are stopping. */
  readonly #open = new Map<WorkerId, OpenWorker>();
  readonly #actions: GroupAction[] = [];
  readonly #onExit: (() => void)[] = [];
  #isPerforming: boolean = false;
  #cancelWake: (() => void) | undefined;

  constructor(parts: FleetParts, group: WorkerGroup, nextWorker: () => WorkerId) {
    this.#parts = parts;
    this.group = group;
    this.#models = new Map(group.models.map((entry) => [entry.model.key, entry]));
    this.#keeper = new GroupKeeper([...this.#models.keys()], nextWorker, {
      loadMsMax: parts.loadMsMax,
      runMsMax: Math.max(0, ...group.models.map(({ model }) => model.policy.runMsMax)),
      isRetry: group.isRetry,
    });
    this.#tell({ kind: 'resized', workers: group.workers });
  }

  get name(): string {
    return this.group.name;
  }

  get lane(): Lane {
    return this.group.lane;
  }

  get models(): readonly GroupedModel[] {
    return this.group.models;
  }

  get workers(): number {
    return this.#keeper.workers.length;
  }

  /** Whether every worker has loaded the models once, failed to load them, or exited. */
  get isSettled(): boolean {
    return this.#keeper.isSettled;
  }

  /** The process id of each worker, and the resident memory that it reported after its last load; of those that have processes. */
  memory(): readonly { readonly pid: number | undefined; readonly residentBytes: number }[] {
    return this.#keeper.workers.map(({ worker }) => {
      const open = this.#open.get(worker);
      return { pid: open?.pid, residentBytes: open?.residentBytes ?? 0 };
    });
  }

  members(): readonly FleetWorker[] {
    return this.#keeper.workers.map(({ worker, position }) => ({
      worker,
      pid: this.#open.get(worker)?.pid,
      models: this.models.map(({ model, placements }) => ({ model, placement: takePlacementAt(placements, position) })),
    }));
  }

  /** Starts more workers, or stops the last ones when they have finished what they hold. The others keep running. */
  resize(workers: number): void {
    this.#tell({ kind: 'resized', workers });
  }

  /** Resolves when every worker has exited. */
  stop(): Promise<void> {
    this.#tell({ kind: 'stopped', isKilled: false });
    return this.#allExited();
  }

  kill(): Promise<void> {
    this.#tell({ kind: 'stopped', isKilled: true });
    return this.#allExited();
  }

  loaded({ worker }: OpenWorker, model: ServedModel, loadMs: number): void {
    this.#parts.listener.modelLoaded(model, loadMs);
    this.#tell({ kind: 'loaded', worker, model: model.key });
  }

  loadFailed({ worker }: OpenWorker, { key: model }: ServedModel, reason: string, isFinal: boolean): void {
    this.#tell({ kind: 'load-failed', worker, model, reason, isFinal, jitter: this.#parts.random() });
  }

  exited({ worker, batchesAnswered }: OpenWorker, reason: string): void {
    this.#open.delete(worker);
    this.#tell({ kind: 'worker-exited', worker, reason, batchesAnswered, jitter: this.#parts.random() });
    if (this.#open.size === 0) for (const resolve of this.#onExit.splice(0)) resolve();
  }

  #allExited(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onExit.push(resolve);
    });
  }

  /** An action may cause further events: their actions are carried out after those decided before. */
  #tell(event: GroupEvent): void {
    this.#keeper.handle(event, this.#parts.clock.now());
    this.#actions.push(...this.#keeper.takeActions());
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    for (let action = this.#actions.shift(); action !== undefined; action = this.#actions.shift()) {
      this.#perform(action);
    }
    this.#isPerforming = false;
  }

  #perform(action: GroupAction): void {
    switch (action.kind) {
      case 'wake-at':
        this.#wakeAt(action.at);
        return;
      case 'settled':
        this.group.listener.settled();
        return;
      case 'add-model':
      case 'remove-model':
      case 'model-servable':
      case 'model-unservable':
      case 'model-short-of-worker':
        this.#performFor(this.#mustKnow(action.model).model, action);
        return;
      case 'start-worker':
        this.#open.set(action.worker, new OpenWorker(this, this.#parts.workers, action.worker, action.position));
        this.#tell({ kind: 'worker-started', worker: action.worker });
        this.#parts.listener.workerStarted(this.name, action.worker, this.#open.get(action.worker)?.pid);
        return;
      case 'load':
        this.#open.get(action.worker)?.load(this.#mustKnow(action.model));
        return;
      case 'serve':
        this.#open.get(action.worker)?.serve(this.#mustKnow(action.model));
        return;
      case 'unserve':
        this.#parts.workers.workerUnserves(action.worker, this.#mustKnow(action.model).model);
        return;
      case 'stop-worker':
        this.#open.get(action.worker)?.stop();
        return;
      case 'kill':
        this.#open.get(action.worker)?.kill();
        return;
      case 'worker-ready':
        this.#parts.listener.workerReady(this.name, action.worker, this.#open.get(action.worker)?.pid);
        return;
      case 'worker-stopping':
        this.#parts.listener.workerStopping(action.worker);
        return;
      case 'worker-gone':
        this.#parts.listener.workerGone(this.name, action.worker, action.reason, action.restartInMs);
        return;
    }
  }

  #performFor(model: ServedModel, action: ModelAction): void {
    const { roster, listener } = this.#parts;
    switch (action.kind) {
      case 'add-model':
        roster.add(model);
        break;
      case 'remove-model':
        roster.remove(model);
        break;
      case 'model-servable':
        this.group.listener.modelServable(model);
        break;
      case 'model-unservable':
        this.group.listener.modelUnservable(model, action.reason, action.isFinal);
        break;
      case 'model-short-of-worker':
        listener.modelShortOfWorker(model, action.worker, action.reason);
        break;
    }
  }

  #mustKnow(key: ModelKey): GroupedModel {
    return this.#models.get(key) as GroupedModel;
  }

  #wakeAt(at: number): void {
    const { clock } = this.#parts;
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancelWake = clock.after(Math.max(0, at - clock.now()), () => this.#tell({ kind: 'tick' }));
  }
}

type ModelAction = Extract<
  GroupAction,
  { readonly kind: 'add-model' | 'remove-model' | 'model-servable' | 'model-unservable' | 'model-short-of-worker' }
>;
