/**
 * A group with its workers: carries out what its keeper decides (packages/core/src/life-cycle/group-keeper.ts), and tells
 * it what the workers do. It reports to the data plane, the fleet's listener and the group's own.
 */
import { type GroupAction, type GroupEvent, GroupKeeper, type ModelKey, type WorkerId } from '@millrace/core';
import type { GeneratorProbe, Lane } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';
import type { ModelRoster } from '../data-plane/model-roster.ts';
import { modelKeyFrom, type ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import { type InstancePlacement, takePlacementAt } from '../model/instance-placements.ts';
import type { FleetListener } from './fleet-listener.ts';
import { OpenWorker, type OpenWorkerGroup, type WorkerExit } from './open-worker.ts';
import type { ProbeMemory } from './probe-memory.ts';
import type { GroupedModel, GroupListener, MemoryShare, RunningModels, WorkerGroup } from './worker-group.ts';

export interface FleetParts {
  readonly workers: WorkerEvents;
  readonly roster: Pick<ModelRoster, 'isInUse' | 'remove' | 'workersServe'>;
  readonly clock: Clock;
  /** In [0, 1): jitter of restarts and retries. */
  readonly random: () => number;
  /** A worker whose loads have not ended, in success or failure, within this time is killed. */
  readonly loadMsMax: number;
  readonly listener: FleetListener;
  /** Of generators; undefined: each load probes. */
  readonly probes?: Pick<ProbeMemory, 'take' | 'keep'>;
}

/** A worker as operators see it. */
export interface FleetWorker {
  readonly worker: WorkerId;
  /** Undefined where it has no process of its own, or none at the moment. */
  readonly pid: number | undefined;
  /** The models of its group with their placements; it may still be loading them. */
  readonly models: readonly { readonly model: ServedModel; readonly placement: InstancePlacement | undefined }[];
}

/** A model of the group, with whoever is told about it. */
interface Member extends GroupedModel {
  readonly listener: GroupListener;
}

export class RunningGroup implements OpenWorkerGroup, RunningModels {
  readonly group: WorkerGroup;
  readonly #parts: FleetParts;
  readonly #keeper: GroupKeeper;
  readonly #models: Map<ModelKey, Member>;
  /** Called when no worker holds the model any more. */
  readonly #onModelGone = new Map<ModelKey, () => void>();
  /** Those whose process has not exited, including workers that are stopping. */
  readonly #open = new Map<WorkerId, OpenWorker>();
  readonly #actions: GroupAction[] = [];
  readonly #onExit: (() => void)[] = [];
  #isPerforming: boolean = false;
  #cancelWake: (() => void) | undefined;

  constructor(parts: FleetParts, group: WorkerGroup, nextWorker: () => WorkerId) {
    this.#parts = parts;
    this.group = group;
    const { listener } = group;
    this.#models = new Map(group.models.map((entry) => [entry.model.key, { ...entry, listener }]));
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
    return [...this.#models.values()];
  }

  get modelCount(): number {
    return this.#models.size;
  }

  get workers(): number {
    return this.#keeper.workers.length;
  }

  /** Whether every worker has loaded the models once, failed to load them, or exited. */
  get isSettled(): boolean {
    return this.#keeper.isSettled;
  }

  /** The process id of each worker, and the resident memory that it reported after its last load; of those that have processes. */
  memory(): readonly MemoryShare[] {
    return this.#memoryWith(() => 1);
  }

  /** The same, with the part of each worker's memory that one of its models accounts for. */
  memoryOf({ key }: ServedModel): readonly MemoryShare[] {
    return this.#memoryWith((open) => open.shareOf(key));
  }

  #memoryWith(shareOf: (open: OpenWorker) => number): readonly MemoryShare[] {
    return this.#keeper.workers.map(({ worker }) => {
      const open = this.#open.get(worker);
      if (open === undefined) return { pid: undefined, residentBytes: 0, share: 1 };
      return { pid: open.pid, residentBytes: open.residentBytes, share: shareOf(open) };
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

  /** Has every worker load a further model. */
  join(entry: GroupedModel, listener: GroupListener): void {
    this.#models.set(entry.model.key, { ...entry, listener });
    this.#tell({ kind: 'model-joined', model: entry.model.key });
  }

  /** Whether every worker has loaded the model once, failed to load it, or exited. */
  hasTried({ key }: ServedModel): boolean {
    return this.#keeper.hasTried(key);
  }

  /** Resolves when no worker holds the model any more. To be called when none of its requests waits or runs. */
  leave({ key }: ServedModel): Promise<void> {
    return new Promise((resolve) => {
      this.#onModelGone.set(key, resolve);
      this.#tell({ kind: 'model-left', model: key });
    });
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

  loaded({ worker }: OpenWorker, model: ServedModel, loadMs: number, processorMs: number | undefined): void {
    this.#parts.listener.modelLoaded(model, loadMs);
    if (processorMs !== undefined) this.#models.get(model.key)?.listener.loadMeasured?.(model, processorMs);
    this.#tell({ kind: 'loaded', worker, model: model.key });
  }

  takeProbe({ view }: ServedModel): GeneratorProbe | undefined {
    return this.#parts.probes?.take(modelKeyFrom(view.name, view.version));
  }

  probed(model: ServedModel, probe: GeneratorProbe): void {
    model.probe = probe;
    model.areStreamsExact = probe.isExact;
    this.#parts.probes?.keep(modelKeyFrom(model.view.name, model.view.version), probe);
  }

  loadFailed({ worker }: OpenWorker, { key: model }: ServedModel, reason: string, isFinal: boolean): void {
    this.#tell({ kind: 'load-failed', worker, model, reason, isFinal, jitter: this.#parts.random() });
  }

  filesChanged({ worker, position }: OpenWorker, changed: ServedModel, reason: string): void {
    const { key: model } = changed;
    const { placements, listener } = this.#mustKnow(model);
    const priorityMaxAt = (at: number): number => takePlacementAt(placements, at)?.priorityMax ?? Infinity;
    const lesser = this.#keeper.workers
      .map((other) => other.position)
      .filter((other) => priorityMaxAt(other) < priorityMaxAt(position));
    this.#tell({ kind: 'load-failed', worker, model, reason, isFinal: false, lesser, jitter: this.#parts.random() });
    listener.filesChanged?.(changed);
  }

  exited(
    { worker, batchesAnswered, loading }: OpenWorker,
    { reason, end }: WorkerExit,
    running: ModelKey | undefined,
  ): void {
    this.#open.delete(worker);
    for (const key of new Set([running, loading])) {
      const member = key === undefined ? undefined : this.#models.get(key);
      if (member !== undefined && end !== undefined) member.listener.workerEndedIn?.(member.model, end);
    }
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
      case 'model-settled':
        this.#mustKnow(action.model).listener.settled();
        return;
      case 'model-gone':
        this.#models.delete(action.model);
        this.#onModelGone.get(action.model)?.();
        this.#onModelGone.delete(action.model);
        return;
      case 'add-model':
      case 'remove-model':
      case 'model-servable':
      case 'model-unservable':
      case 'model-short-of-worker':
        this.#performFor(this.#mustKnow(action.model), action);
        return;
      case 'start-worker':
        this.#open.set(action.worker, new OpenWorker(this, this.#parts.workers, action.worker, action.position));
        this.#tell({ kind: 'worker-started', worker: action.worker, inUse: this.#modelsInUse() });
        this.#parts.listener.workerStarted(this.name, action.worker, this.#open.get(action.worker)?.pid);
        return;
      case 'load':
        this.#open.get(action.worker)?.load(this.#mustKnow(action.model));
        return;
      case 'unload':
        this.#parts.workers.workerUnserves(action.worker, this.#mustKnow(action.model).model);
        this.#open.get(action.worker)?.unload(this.#mustKnow(action.model));
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
        this.#reportReady(action.worker);
        return;
      case 'worker-stopping':
        this.#parts.listener.workerStopping(action.worker);
        return;
      case 'worker-gone':
        this.#parts.listener.workerGone(this.name, action.worker, action.reason, action.restartInMs);
        return;
    }
  }

  /** Once for each process of a shared worker, however many models it loads later. */
  #reportReady(worker: WorkerId): void {
    const open = this.#open.get(worker);
    if (open === undefined || (this.group.isShared && open.wasReady)) return;
    open.wasReady = true;
    this.#parts.listener.workerReady(this.name, worker, open.pid);
  }

  #performFor({ model, listener }: Member, action: ModelAction): void {
    const { roster } = this.#parts;
    switch (action.kind) {
      case 'add-model':
        roster.workersServe(model);
        break;
      case 'remove-model':
        roster.remove(model);
        break;
      case 'model-servable':
        listener.modelServable(model);
        break;
      case 'model-unservable':
        listener.modelUnservable(model, action.reason, action.isFinal);
        break;
      case 'model-short-of-worker':
        this.#parts.listener.modelShortOfWorker(model, action.worker, action.reason);
        break;
    }
  }

  /** Empty also where there is no order to choose. */
  #modelsInUse(): readonly ModelKey[] {
    if (this.#models.size < 2) return [];
    const { roster } = this.#parts;
    return this.models.flatMap(({ model }) => (roster.isInUse(model) ? [model.key] : []));
  }

  #mustKnow(key: ModelKey): Member {
    return this.#models.get(key) as Member;
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
