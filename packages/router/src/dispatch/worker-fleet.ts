/**
 * All workers: groups of them are added and removed. What a group does about its workers is decided by its keeper in the
 * core and carried out by running-group.ts. The data plane is told which worker serves which model, and decides which of
 * them gets a batch.
 */
import { resolveSharingPolicy, type SharingPolicy, type WorkerId } from '@millrace/core';
import { type FleetParts, type FleetWorker, RunningGroup } from './running-group.ts';
import { SharedModels, SharedWorkers } from './shared-workers.ts';
import type { WorkerGroup } from './worker-group.ts';

/** Where the models of a group run: in workers of its own, or in one that others share. */
export type GroupWorkers = RunningGroup | SharedModels;

export class WorkerFleet {
  readonly #parts: FleetParts;
  readonly #groups = new Set<RunningGroup>();
  readonly #shared: SharedWorkers;
  #lastWorker: WorkerId = 0;

  constructor(parts: FleetParts, sharing: Partial<SharingPolicy> = {}) {
    this.#parts = parts;
    this.#shared = new SharedWorkers({
      policy: resolveSharingPolicy(sharing),
      start: (group) => this.#start(group),
      stop: (group) => this.#stop(group),
    });
  }

  /** Has the models of the group loaded, by workers of its own or by one that others share. */
  add(group: WorkerGroup): GroupWorkers {
    return group.isShared ? this.#shared.add(group) : this.#start(group);
  }

  #start(group: WorkerGroup): RunningGroup {
    const running = new RunningGroup(this.#parts, group, () => {
      this.#lastWorker += 1;
      return this.#lastWorker;
    });
    this.#groups.add(running);
    return running;
  }

  /**
   * Has the models unloaded. Workers that nobody else needs exit by themselves, and are killed when they take longer than
   * `stopMsMax`, hung or in a long load; resolves when they have exited. To be called when no request of these models
   * waits or runs any more.
   */
  remove(workers: GroupWorkers): Promise<void> {
    return workers instanceof SharedModels ? workers.leave() : this.#stop(workers);
  }

  async #stop(group: RunningGroup): Promise<void> {
    await group.stop();
    this.#groups.delete(group);
  }

  /** Stops every worker of every group, as `remove` does. To be called after the data plane was drained. */
  async stop(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => this.#stop(group)));
  }

  /** All current workers, by their number. */
  workers(): readonly FleetWorker[] {
    return [...this.#groups].flatMap((group) => group.members()).sort((a, b) => a.worker - b.worker);
  }

  /** How many workers there are, including those that wait for a restart. */
  get workerCount(): number {
    let count = 0;
    for (const group of this.#groups) count += group.workers;
    return count;
  }

  /** Kills every worker; resolves when all have exited. */
  async kill(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => group.kill()));
  }
}
