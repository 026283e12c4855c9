/**
 * A group with its workers: how many there are, which of its models at least one of them serves, and whether all have
 * settled. It reports to the data plane and to the group's listener. A single worker is handled in worker-supervisor.ts.
 */
import type { WorkerId } from '@millrace/core';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { InstancePlacement } from '../model/instance-placements.ts';
import type { SupervisedGroup } from './supervised-loads.ts';
import type { WorkerGroup } from './worker-group.ts';
import { stopMsMax, type WorkerParts, WorkerSupervisor } from './worker-supervisor.ts';

/** A worker as operators see it. */
export interface FleetWorker {
  readonly worker: WorkerId;
  /** Undefined where it has no process of its own, or none at the moment. */
  readonly pid: number | undefined;
  /** The models of its group with their placements; it may still be loading them. */
  readonly models: readonly { readonly model: ServedModel; readonly placement: InstancePlacement | undefined }[];
}

export class RunningGroup implements SupervisedGroup {
  readonly group: WorkerGroup;
  readonly #parts: WorkerParts;
  readonly #nextWorker: () => WorkerId;
  readonly #supervisors: WorkerSupervisor[] = [];
  readonly #serving = new Map<ServedModel, number>();
  /** Models that this group has added to the data plane. */
  readonly #inPlane = new Set<ServedModel>();
  #isStopping: boolean = false;

  constructor(parts: WorkerParts, group: WorkerGroup, nextWorker: () => WorkerId) {
    this.#parts = parts;
    this.group = group;
    this.#nextWorker = nextWorker;
    this.#grow(group.workers);
  }

  get workers(): number {
    return this.#supervisors.length;
  }

  /** Whether every worker has loaded the models once, failed to load them, or exited. */
  get isSettled(): boolean {
    return this.#supervisors.every(({ hasSettled }) => hasSettled);
  }

  /** The process id of each worker, and the resident memory that it reported after its last load; of those that have processes. */
  memory(): readonly { readonly pid: number | undefined; readonly residentBytes: number }[] {
    return this.#supervisors.map(({ pid, residentBytes }) => ({ pid, residentBytes }));
  }

  members(): readonly FleetWorker[] {
    return this.#supervisors.map(({ worker, pid }, position) => ({
      worker,
      pid,
      models: this.group.models.map(({ model, placements }) => ({
        model,
        placement: placements[position % placements.length],
      })),
    }));
  }

  /** Starts more workers, or stops the last ones when they have finished what they hold. The others keep running. */
  resize(workers: number): void {
    this.#grow(workers);
    const isShrinking = this.#supervisors.length > workers;
    while (this.#supervisors.length > workers) {
      const supervisor = this.#supervisors.pop() as WorkerSupervisor;
      for (const { model } of this.group.models) this.#parts.workers.workerUnserves(supervisor.worker, model);
      // Its batches may run as long as the limit of its models allows.
      void supervisor.stop(stopMsMax + Math.max(...this.group.models.map(({ model }) => model.policy.runMsMax)));
    }
    // The group may have been waiting for one of these to settle.
    if (isShrinking) this.workerSettled();
  }

  async stop(): Promise<void> {
    this.#leave();
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop(stopMsMax)));
  }

  async kill(): Promise<void> {
    this.#leave();
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.kill()));
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
    for (const supervisor of this.#supervisors) supervisor.noteServedByOther(model);
  }

  isServed(model: ServedModel): boolean {
    return (this.#serving.get(model) ?? 0) > 0;
  }

  workerServedUntilNow(model: ServedModel): void {
    this.#serving.set(model, (this.#serving.get(model) ?? 1) - 1);
  }

  /** A load failed, or the workers are in a crash loop. Where another worker serves the model, it stays in service. */
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
    while (this.#supervisors.length < workers) {
      const supervisor = new WorkerSupervisor(this, this.#parts, this.#nextWorker(), this.#supervisors.length);
      this.#supervisors.push(supervisor);
      supervisor.open();
    }
  }

  #leave(): void {
    this.#isStopping = true;
    for (const model of this.#inPlane) this.#parts.roster.remove(model);
    this.#inPlane.clear();
  }
}
