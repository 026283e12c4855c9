/**
 * A worker process from its start to its exit: has it load models, and passes what it says to the data plane and to its
 * group. It decides nothing.
 */
import type { WorkerId } from '@millrace/core';
import { type FromWorker, type Lane, MalformedFrame, type WorkerLink } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import { loadSpecAt, takePlacementAt } from '../model/instance-placements.ts';
import type { GroupedModel } from './worker-group.ts';

/** The group of an open worker, which is told what becomes of its loads. */
export interface OpenWorkerGroup {
  readonly name: string;
  readonly lane: Lane;
  readonly models: readonly GroupedModel[];
  loaded(worker: OpenWorker, model: ServedModel, loadMs: number): void;
  loadFailed(worker: OpenWorker, model: ServedModel, reason: string, isFinal: boolean): void;
  exited(worker: OpenWorker, reason: string): void;
}

export class OpenWorker {
  readonly worker: WorkerId;
  /** Its position in the group, which says on which device its instances are. */
  readonly position: number;
  readonly #group: OpenWorkerGroup;
  readonly #dataPlane: WorkerEvents;
  readonly #link: WorkerLink;
  #batchesAnswered = 0;
  #residentBytes = 0;

  constructor(group: OpenWorkerGroup, dataPlane: WorkerEvents, worker: WorkerId, position: number) {
    this.worker = worker;
    this.position = position;
    this.#group = group;
    this.#dataPlane = dataPlane;
    this.#link = group.lane.open((message) => this.#receive(message));
    dataPlane.attach(worker, this.#link);
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  get batchesAnswered(): number {
    return this.#batchesAnswered;
  }

  /** The resident memory that it reported after its last load; 0 before. */
  get residentBytes(): number {
    return this.#residentBytes;
  }

  load({ spec, placements }: GroupedModel): void {
    this.#link.send({ kind: 'load', spec: loadSpecAt(spec, placements, this.position) });
  }

  serve({ model, placements }: GroupedModel): void {
    const priorityMax = takePlacementAt(placements, this.position)?.priorityMax ?? Number.POSITIVE_INFINITY;
    this.#dataPlane.workerServes(this.worker, model, priorityMax);
  }

  /** Lets it finish what it holds and exit. */
  stop(): void {
    this.#link.stop();
  }

  kill(): void {
    this.#link.kill();
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'credit':
        this.#dataPlane.workerCredit(this.worker, message.batchesMax);
        break;
      case 'ready':
        this.#residentBytes = Math.max(this.#residentBytes, message.residentBytes);
        this.#group.loaded(this, this.#modelOf(message.model), message.loadMs);
        break;
      case 'load-failed':
        this.#group.loadFailed(this, this.#modelOf(message.model), message.message, message.isFinal === true);
        break;
      case 'answered':
        this.#batchesAnswered += 1;
        this.#dataPlane.batchAnswered(message);
        break;
      case 'partial-answer':
        this.#dataPlane.batchProgressed(message);
        break;
      case 'failed':
        this.#dataPlane.batchFailed(message);
        break;
      case 'call':
        this.#dataPlane.workerCalls(this.worker, message);
        break;
      case 'call-cancelled':
        this.#dataPlane.callCancelled(message);
        break;
      case 'gone':
        this.#dataPlane.workerGone(this.worker);
        this.#group.exited(this, message.reason);
        break;
    }
  }

  #modelOf(handle: number): ServedModel {
    const { models, name } = this.#group;
    const entry = models.find(({ spec }) => spec.model === handle);
    // Caught by the lane, which kills a worker that violates the protocol.
    if (entry === undefined)
      throw new MalformedFrame(`a worker of group ${name} sent a message about unknown model ${handle}`);
    return entry.model;
  }
}
