/**
 * Keeps the workers alive: groups of them come and go (running-group.ts), each worker has the models of its group loaded
 * and is started again when it is gone, as the restart policy says (worker-slot.ts). The data plane is told who serves
 * what; who is asked is not decided here.
 */
import type { WorkerId } from '@millrace/core';
import { type FleetWorker, RunningGroup } from './running-group.ts';
import type { WorkerGroup } from './worker-group.ts';
import type { WorkerParts } from './worker-supervisor.ts';

export class WorkerFleet {
  readonly #parts: WorkerParts;
  readonly #groups = new Set<RunningGroup>();
  #lastWorker: WorkerId = 0;

  constructor(parts: WorkerParts) {
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
