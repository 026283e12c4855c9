/** Where the inputs of large requests are received: in memory that a worker of their model reads. */
import type { WorkerId } from '@millrace/core';
import type { Region, WorkerLink } from '@millrace/protocol';
import type { ServedModel } from './served-model.ts';

/** Smaller requests are received in any memory: their copy costs less than memory of their own. */
export const arrivingBytesMin: number = 64 * 1024;

/** Lends memory for all inputs of one request, which has to be released when the request has ended. */
export interface InputMemory {
  /** Undefined: there is no room. */
  lend(bytes: number): Region | undefined;
}

export class ArrivingInputs {
  readonly #linkOf: (worker: WorkerId) => WorkerLink | undefined;
  readonly #workers = new Map<ServedModel, Set<WorkerId>>();

  constructor(linkOf: (worker: WorkerId) => WorkerLink | undefined) {
    this.#linkOf = linkOf;
  }

  serves(worker: WorkerId, model: ServedModel): void {
    const workers = this.#workers.get(model);
    if (workers === undefined) this.#workers.set(model, new Set([worker]));
    else workers.add(worker);
  }

  unserves(worker: WorkerId, model: ServedModel): void {
    const workers = this.#workers.get(model);
    if (workers?.delete(worker) === true && workers.size === 0) this.#workers.delete(model);
  }

  gone(worker: WorkerId): void {
    for (const model of [...this.#workers.keys()]) this.unserves(worker, model);
  }

  /** Undefined: requests of the model are not sent to a worker as they come, or no worker of it has memory to share. */
  memoryFor(model: ServedModel): InputMemory | undefined {
    if (model.runner !== undefined || model.shaping !== undefined || model.sequencing !== undefined) return undefined;
    const link = this.#leastLent(model);
    return link && { lend: (bytes) => link.lendArriving?.(bytes) };
  }

  /** A request that another worker runs after all is copied for it. */
  #leastLent(model: ServedModel): WorkerLink | undefined {
    let least: WorkerLink | undefined;
    for (const worker of this.#workers.get(model) ?? []) {
      const link = this.#linkOf(worker);
      if (link?.arrivingBytes === undefined) continue;
      if (least?.arrivingBytes === undefined || link.arrivingBytes < least.arrivingBytes) least = link;
    }
    return least;
  }
}
