/**
 * Keeps the workers alive: groups of them come and go, each worker has the models of its group loaded and is started
 * anew when it is gone, as the restart policy says. The data plane is told who serves what; who is asked is not decided
 * here.
 */
import type { WorkerId } from '@millrace/core';
import type { Lane, LoadSpec } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';
import type { ModelRoster } from '../data-plane/model-roster.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import type { InstancePlace } from '../model/instance-places.ts';
import { stopMsMax, WorkerSlot } from './worker-slot.ts';

export interface GroupedModel {
  readonly model: ServedModel;
  readonly spec: LoadSpec;
  /** Where its instances run, worker by worker. */
  readonly places: readonly InstancePlace[];
}

/** Models that share worker processes: usually one model, or several small ones in a named group. */
export interface WorkerGroup {
  readonly name: string;
  readonly lane: Lane;
  /** How many workers hold all of the models each. */
  readonly workers: number;
  readonly models: readonly GroupedModel[];
  readonly listener: GroupListener;
}

/** What a group tells whoever had it started. */
export interface GroupListener {
  /** A first worker can run the model, or one can again. */
  modelServable(model: ServedModel): void;
  /** No worker can: its load failed, or its workers keep dying. `isFinal`: with the same files no load can succeed. */
  modelUnservable(model: ServedModel, reason: string, isFinal: boolean): void;
  /** Every worker has loaded the models once, failed to, or died: more hands will not come soon. */
  settled(): void;
}

/** What the fleet tells whoever watches it: the log, the metrics. */
export interface FleetListener {
  /** A worker, the first or a later one, has loaded the model. */
  modelLoaded(model: ServedModel, loadMs: number): void;
  /** One of its workers cannot serve the model; others do, so callers notice no more than fewer hands. */
  modelShortOfWorker(model: ServedModel, worker: WorkerId, reason: string): void;
  workerStarted(group: string, worker: WorkerId, pid: number | undefined): void;
  /** Every model of its group is loaded, or has failed to. */
  workerReady(group: string, worker: WorkerId, pid: number | undefined): void;
  workerStopping(worker: WorkerId): void;
  /** `restartInMs` is undefined when nothing takes its place. */
  workerGone(group: string, worker: WorkerId, reason: string, restartInMs: number | undefined): void;
}

/** A worker as those see it who ask. */
export interface FleetWorker {
  readonly worker: WorkerId;
  /** Undefined where it has no process of its own, or none at the moment. */
  readonly pid: number | undefined;
  /** Those of its group, each with where it runs; it may still be loading them. */
  readonly models: readonly { readonly model: ServedModel; readonly place: InstancePlace | undefined }[];
}

export interface WorkerFleetParts {
  readonly workers: WorkerEvents;
  readonly roster: Pick<ModelRoster, 'add' | 'remove'>;
  readonly clock: Clock;
  /** In [0, 1): spreads restarts. */
  readonly random: () => number;
  /** A worker that has not loaded its models by then, or failed to, is killed. */
  readonly loadMsMax: number;
  readonly listener: FleetListener;
}

export class WorkerFleet {
  readonly #parts: WorkerFleetParts;
  readonly #groups = new Set<RunningGroup>();
  #lastWorker: WorkerId = 0;

  constructor(parts: WorkerFleetParts) {
    this.#parts = parts;
  }

  /** Starts the workers of the group. */
  add(group: WorkerGroup): RunningGroup {
    const running = new RunningGroup(this.#parts, group, () => {
      this.#lastWorker += 1;
      return this.#lastWorker;
    });
    this.#groups.add(running);
    return running;
  }

  /**
   * Lets the group's workers end by themselves and kills those that take longer than `stopMsMax`, hung or in a long
   * load; resolves when all are gone. Nothing of its models waits or runs any more.
   */
  async remove(group: RunningGroup): Promise<void> {
    await group.stop();
    this.#groups.delete(group);
  }

  /** Every worker of every group, as `remove` does. The data plane has been drained before. */
  async stop(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => this.remove(group)));
  }

  /** Every worker there is now, by its number. */
  workers(): readonly FleetWorker[] {
    return [...this.#groups].flatMap((group) => group.members()).sort((a, b) => a.worker - b.worker);
  }

  /** How many workers there are or shall be. */
  get workerCount(): number {
    let count = 0;
    for (const group of this.#groups) count += group.workers;
    return count;
  }

  /** Ends every worker now; resolves when all are gone. */
  async kill(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => group.kill()));
  }
}

/** A group with its workers. */
export class RunningGroup {
  readonly group: WorkerGroup;
  readonly #parts: WorkerFleetParts;
  readonly #nextWorker: () => WorkerId;
  readonly #slots: WorkerSlot[] = [];
  readonly #serving = new Map<ServedModel, number>();
  /** Models that the data plane knows by this group. */
  readonly #inPlane = new Set<ServedModel>();
  #isStopping: boolean = false;

  constructor(parts: WorkerFleetParts, group: WorkerGroup, nextWorker: () => WorkerId) {
    this.#parts = parts;
    this.group = group;
    this.#nextWorker = nextWorker;
    this.#grow(group.workers);
  }

  get workers(): number {
    return this.#slots.length;
  }

  /** Whether every worker has loaded the models once, failed to, or died. */
  get isSettled(): boolean {
    return this.#slots.every(({ hasSettled }) => hasSettled);
  }

  /** Process ids of the workers, and what each said it held after its last load; of those that have processes. */
  memory(): readonly { readonly pid: number | undefined; readonly residentBytes: number }[] {
    return this.#slots.map(({ pid, residentBytes }) => ({ pid, residentBytes }));
  }

  members(): readonly FleetWorker[] {
    return this.#slots.map(({ worker, pid }, position) => ({
      worker,
      pid,
      models: this.group.models.map(({ model, places }) => ({ model, place: places[position % places.length] })),
    }));
  }

  /** More workers are started, or the last ones finish what they hold and end. The others stay as they are. */
  resize(workers: number): void {
    this.#grow(workers);
    const isShrinking = this.#slots.length > workers;
    while (this.#slots.length > workers) {
      const slot = this.#slots.pop() as WorkerSlot;
      for (const { model } of this.group.models) this.#parts.workers.workerUnserves(slot.worker, model);
      // What it holds may run as long as its models are allowed to.
      void slot.stop(stopMsMax + Math.max(...this.group.models.map(({ model }) => model.policy.runMsMax)));
    }
    // Whoever waits for all workers may have waited for one of these.
    if (isShrinking) this.workerSettled();
  }

  async stop(): Promise<void> {
    this.#leave();
    await Promise.all(this.#slots.map((slot) => slot.stop(stopMsMax)));
  }

  async kill(): Promise<void> {
    this.#leave();
    await Promise.all(this.#slots.map((slot) => slot.kill()));
  }

  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void {
    this.#serving.set(model, (this.#serving.get(model) ?? 0) + 1);
    const { workers, roster } = this.#parts;
    const isFirst = !this.#inPlane.has(model);
    if (isFirst) {
      this.#inPlane.add(model);
      roster.add(model);
    }
    workers.workerServes(worker, model, priorityMax);
    if (!isFirst) return;
    this.group.listener.modelServable(model);
    for (const slot of this.#slots) slot.noteServedByOther(model);
  }

  isServed(model: ServedModel): boolean {
    return (this.#serving.get(model) ?? 0) > 0;
  }

  workerServedUntilNow(model: ServedModel): void {
    this.#serving.set(model, (this.#serving.get(model) ?? 1) - 1);
  }

  /** A load failed or the workers keep dying. Where another worker serves the model, callers notice nothing. */
  modelUnservable(model: ServedModel, worker: WorkerId, reason: string, isFinal = false): void {
    if (this.#isStopping) return;
    if (this.isServed(model)) {
      this.#parts.listener.modelShortOfWorker(model, worker, reason);
      return;
    }
    if (this.#inPlane.delete(model)) this.#parts.roster.remove(model);
    this.group.listener.modelUnservable(model, reason, isFinal);
  }

  workerSettled(): void {
    if (!this.#isStopping && this.isSettled) this.group.listener.settled();
  }

  #grow(workers: number): void {
    while (this.#slots.length < workers) {
      const slot = new WorkerSlot(this, this.#parts, this.#nextWorker(), this.#slots.length);
      this.#slots.push(slot);
      slot.open();
    }
  }

  #leave(): void {
    this.#isStopping = true;
    for (const model of this.#inPlane) this.#parts.roster.remove(model);
    this.#inPlane.clear();
  }
}
