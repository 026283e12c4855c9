/**
 * A group with its workers: how many there are, which of its models at least one of them serves, and whether all have
 * settled. It tells the data plane and whoever asked for the group. What happens to one worker is in worker-slot.ts.
 */
import type { WorkerId } from '@millrace/core';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { InstancePlacement } from '../model/instance-placements.ts';
import type { SupervisedGroup } from './supervised-loads.ts';
import type { WorkerGroup } from './worker-group.ts';
import { stopMsMax, type WorkerParts, WorkerSupervisor } from './worker-supervisor.ts';

/** A worker as those see it who ask. */
export interface FleetWorker {
  readonly worker: WorkerId;
  /** Undefined where it has no process of its own, or none at the moment. */
  readonly pid: number | undefined;
  /** Those of its group, each with where it runs; it may still be loading them. */
  readonly models: readonly { readonly model: ServedModel; readonly placement: InstancePlacement | undefined }[];
}

export class RunningGroup implements SupervisedGroup {
  readonly group: WorkerGroup;
  readonly #parts: WorkerParts;
  readonly #nextWorker: () => WorkerId;
  readonly #slots: WorkerSupervisor[] = [];
  readonly #serving = new Map<ServedModel, number>();
  /** Models that the data plane knows by this group. */
  readonly #inPlane = new Set<ServedModel>();
  #isStopping: boolean = false;

  constructor(parts: WorkerParts, group: WorkerGroup, nextWorker: () => WorkerId) {
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
      models: this.group.models.map(({ model, placements }) => ({
        model,
        placement: placements[position % placements.length],
      })),
    }));
  }

  /** More workers are started, or the last ones finish what they hold and end. The others stay as they are. */
  resize(workers: number): void {
    this.#grow(workers);
    const isShrinking = this.#slots.length > workers;
    while (this.#slots.length > workers) {
      const slot = this.#slots.pop() as WorkerSupervisor;
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
      const slot = new WorkerSupervisor(this, this.#parts, this.#nextWorker(), this.#slots.length);
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
