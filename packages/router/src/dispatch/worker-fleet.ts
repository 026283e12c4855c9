/**
 * All workers: groups of them are added and removed. What a group does about its workers is decided by its keeper in the
 * core and carried out by running-group.ts. The data plane is told which worker serves which model, and decides which of
 * them gets a batch.
 */
import type { WorkerId } from '@millrace/core';
import { type FleetParts, type FleetWorker, RunningGroup } from './running-group.ts';
import type { WorkerGroup } from './worker-group.ts';

export class WorkerFleet {
  readonly #parts: FleetParts;
  readonly #groups = new Set<RunningGroup>();
  #lastWorker: WorkerId = 0;

  constructor(parts: FleetParts) {
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
   * Lets the group's workers exit by themselves and kills those that take longer than `stopMsMax`, hung or in a long load;
   * resolves when all have exited. To be called when no request of its models waits or runs any more.
   */
  async remove(group: RunningGroup): Promise<void> {
    await group.stop();
    this.#groups.delete(group);
  }

  /** Stops every worker of every group, as `remove` does. To be called after the data plane was drained. */
  async stop(): Promise<void> {
    await Promise.all([...this.#groups].map((group) => this.remove(group)));
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
