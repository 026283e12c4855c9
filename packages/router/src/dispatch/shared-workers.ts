/**
 * Workers that hold models of several groups. Each of these models is loaded, unloaded and replaced on its own; when a
 * shared worker exits, all of its models are loaded again by its successor. Models whose runs are known to be short have
 * other workers than those that were never run: nobody knows for how long one of these holds up its worker.
 */
import { chooseSharedWorker, type SharingPolicy } from '@millrace/core';
import type { Lane } from '@millrace/protocol';
import type { RunningGroup } from './running-group.ts';
import type { GroupedModel, GroupListener, MemoryShare, RunningModels, WorkerGroup } from './worker-group.ts';

export interface SharedWorkersParts {
  readonly policy: SharingPolicy;
  readonly start: (group: WorkerGroup) => RunningGroup;
  readonly stop: (group: RunningGroup) => Promise<void>;
}

/** A worker that models share: a group with one worker, whose models come and go. */
interface SharedWorker {
  readonly running: RunningGroup;
  readonly lane: Lane;
  /** It gets no further model. */
  isReserved: boolean;
  /** How many of its groups have runs that are not known to be short. */
  unmeasured: number;
}

export class SharedWorkers {
  readonly #parts: SharedWorkersParts;
  readonly #workers = new Set<SharedWorker>();
  #lastNumber = 0;

  constructor(parts: SharedWorkersParts) {
    this.#parts = parts;
  }

  /** Loads the models of a group, one worker for all of them. */
  add({ lane, models, listener, ...group }: WorkerGroup): SharedModels {
    // Links to workers that run on their own may lead to one process: nothing would be kept apart.
    const isMeasured = group.isMeasured === true || lane.life === 'attached';
    const worker = this.#workerFor(lane, isMeasured);
    for (const model of models) worker.running.join(model, listener);
    return new SharedModels(models, worker, isMeasured, () => this.#stopEmpty(worker));
  }

  #workerFor(lane: Lane, isMeasured: boolean): SharedWorker {
    const isJoinable = (worker: SharedWorker): boolean =>
      worker.lane === lane &&
      !worker.isReserved &&
      (worker.running.modelCount === 0 || (worker.unmeasured === 0) === isMeasured);
    const joinable = [...this.#workers].filter(isJoinable);
    const chosen = chooseSharedWorker(
      joinable.map(({ running }) => running.modelCount),
      this.#parts.policy,
    );
    return chosen === undefined ? this.#start(lane) : (joinable[chosen] as SharedWorker);
  }

  #start(lane: Lane): SharedWorker {
    this.#lastNumber += 1;
    // A named group has no slash, so it is never mistaken for this one.
    const name = `shared/${this.#lastNumber}`;
    const running = this.#parts.start({
      name,
      lane,
      workers: 1,
      models: [],
      isRetry: false,
      listener: nobody,
      isShared: true,
    });
    const worker: SharedWorker = { running, lane, isReserved: false, unmeasured: 0 };
    this.#workers.add(worker);
    return worker;
  }

  async #stopEmpty(worker: SharedWorker): Promise<void> {
    if (worker.running.modelCount > 0) return;
    this.#workers.delete(worker);
    await this.#parts.stop(worker.running);
  }
}

/** The models of one group in a shared worker. */
export class SharedModels implements RunningModels {
  readonly #models: readonly GroupedModel[];
  readonly #worker: SharedWorker;
  readonly #running: RunningGroup;
  readonly #stop: () => Promise<void>;
  #isMeasured: boolean;

  constructor(models: readonly GroupedModel[], worker: SharedWorker, isMeasured: boolean, stop: () => Promise<void>) {
    this.#models = models;
    this.#worker = worker;
    this.#running = worker.running;
    this.#stop = stop;
    this.#isMeasured = isMeasured;
    if (!isMeasured) worker.unmeasured += 1;
  }

  get isSettled(): boolean {
    return this.#models.every(({ model }) => this.#running.hasTried(model));
  }

  get workers(): number {
    return this.#running.workers;
  }

  /** Whether other models are in the same worker. */
  get hasNeighbours(): boolean {
    return this.#running.modelCount > this.#models.length;
  }

  /** Whether one of the others may hold up the worker for any time, as far as is known. */
  get hasUnmeasuredNeighbours(): boolean {
    return this.#worker.unmeasured > (this.#isMeasured ? 0 : 1);
  }

  /** Its runs are known to be short. */
  noteMeasured(): void {
    if (this.#isMeasured) return;
    this.#isMeasured = true;
    this.#worker.unmeasured -= 1;
  }

  memory(): readonly MemoryShare[] {
    return this.#models.flatMap(({ model }) => this.#running.memoryOf(model));
  }

  /** A model that shares a worker has one instance: its plan changes before the number does. */
  resize(): void {}

  /** No further models join this worker: it is theirs alone if they have no neighbours. */
  reserve(): void {
    this.#worker.isReserved = true;
  }

  /** Resolves when no worker holds the models any more. */
  async leave(): Promise<void> {
    await Promise.all(this.#models.map(({ model }) => this.#running.leave(model)));
    this.noteMeasured();
    await this.#stop();
  }
}

const nobody: GroupListener = { modelServable: () => {}, modelUnservable: () => {}, settled: () => {} };
