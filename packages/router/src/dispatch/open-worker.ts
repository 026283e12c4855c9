/**
 * A worker process from its start to its exit: has it load models, and passes what it says to the data plane and to its
 * group. It decides nothing, except that a load counts only if the files were those that the revision was read from, before
 * it and after it: a model that is loaded again, after an eviction or by another process, must not be another model.
 */
import type { ModelKey, WorkerId } from '@millrace/core';
import {
  type FromWorker,
  type GeneratorProbe,
  type GoneMessage,
  type Lane,
  type LoadFailedMessage,
  MalformedFrame,
  type ReadyMessage,
  type WorkerLink,
} from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import { loadSpecAt, takePlacementAt } from '../model/instance-placements.ts';
import type { GroupedModel } from './worker-group.ts';

/** The group of an open worker, which is told what becomes of its loads. */
export interface OpenWorkerGroup {
  readonly name: string;
  readonly lane: Lane;
  readonly models: readonly GroupedModel[];
  /** `processorMs` is undefined where it is not known what the model cost. */
  loaded(worker: OpenWorker, model: ServedModel, loadMs: number, processorMs: number | undefined): void;
  /** What an earlier load of a generator found out. */
  takeProbe(model: ServedModel): GeneratorProbe | undefined;
  probed(model: ServedModel, probe: GeneratorProbe): void;
  loadFailed(worker: OpenWorker, model: ServedModel, reason: string, isFinal: boolean): void;
  /** The model is not loaded, because its files are others than those that were read. */
  filesChanged(worker: OpenWorker, model: ServedModel, reason: string): void;
  /** `running`: the model of the batch that it ran, if it did. */
  exited(worker: OpenWorker, exit: WorkerExit, running: ModelKey | undefined): void;
}

export type WorkerExit = Pick<GoneMessage, 'reason' | 'end'>;

export class OpenWorker {
  readonly worker: WorkerId;
  /** Its position in the group, which says on which device its instances are. */
  readonly position: number;
  readonly #group: OpenWorkerGroup;
  readonly #dataPlane: WorkerEvents;
  readonly #link: WorkerLink;
  /** Models whose load has not ended, in the order in which they are loaded. */
  readonly #loading = new Set<ModelKey>();
  /** By model: how much memory its load took. */
  readonly #addedBytes = new Map<ModelKey, number>();
  /** Comparisons of files that are under way, one after the other: loads begin in the order in which they were asked for. */
  #checks: Promise<void> = Promise.resolve();
  /** It was told to end, or has exited: nothing more is loaded. */
  #isEnding: boolean = false;
  #batchesAnswered = 0;
  #residentBytes = 0;
  /** It was reported that its loads have ended. */
  wasReady: boolean = false;

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

  /** The model that it loads, if it loads one. */
  get loading(): ModelKey | undefined {
    return this.#loading.values().next().value;
  }

  /** The part of its memory that the model accounts for: what its load added, and its part of what all need. */
  shareOf(model: ModelKey): number {
    let addedBytes = 0;
    for (const bytes of this.#addedBytes.values()) addedBytes += bytes;
    const commonBytes = Math.max(0, this.#residentBytes - addedBytes);
    const total = addedBytes + commonBytes;
    if (total === 0 || !this.#addedBytes.has(model)) return 0;
    return ((this.#addedBytes.get(model) ?? 0) + commonBytes / this.#addedBytes.size) / total;
  }

  load({ model, spec, placements }: GroupedModel): void {
    this.#check(model, (isUnchanged) => {
      if (!isUnchanged) {
        this.#group.filesChanged(this, model, changedReason(model));
        return;
      }
      this.#loading.add(model.key);
      const probe = model.view.isGenerator === true ? this.#group.takeProbe(model) : undefined;
      const placed = loadSpecAt(spec, placements, this.position);
      this.#link.send({ kind: 'load', spec: probe === undefined ? placed : { ...placed, probe } });
    });
  }

  serve({ model, placements }: GroupedModel): void {
    const priorityMax = takePlacementAt(placements, this.position)?.priorityMax ?? Number.POSITIVE_INFINITY;
    this.#dataPlane.workerServes(this.worker, model, priorityMax);
  }

  unload({ model }: Pick<GroupedModel, 'model'>): void {
    const addedBytes = this.#addedBytes.get(model.key) ?? 0;
    this.#addedBytes.delete(model.key);
    this.#residentBytes = Math.max(0, this.#residentBytes - addedBytes);
    this.#link.send({ kind: 'unload', model: model.handle });
  }

  /** Lets it finish what it holds and exit. */
  stop(): void {
    this.#isEnding = true;
    this.#link.stop();
  }

  kill(): void {
    this.#isEnding = true;
    this.#link.kill();
  }

  /** Whether the files of the model are still those that were read; at once where it has none. Says nothing once the worker ends. */
  #check({ source }: ServedModel, tell: (isUnchanged: boolean) => void): void {
    if (source === undefined) {
      tell(true);
      return;
    }
    this.#checks = this.#checks.then(async () => {
      const isUnchanged = await source.isUnchanged();
      if (!this.#isEnding) tell(isUnchanged);
    });
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'credit':
        this.#dataPlane.workerCredit(this.worker, message.batchesMax);
        break;
      case 'ready':
        this.#loaded(message);
        break;
      case 'load-failed':
        this.#loadFailed(message);
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
      case 'gone': {
        this.#isEnding = true;
        const running = this.#dataPlane.runningModel(this.worker)?.key;
        this.#dataPlane.workerGone(this.worker, message.end === 'killed');
        this.#group.exited(this, message, running);
        break;
      }
    }
  }

  #loaded({ model: handle, residentBytes, cost, loadMs, probe }: ReadyMessage): void {
    const model = this.#modelOf(handle);
    if (probe !== undefined) this.#group.probed(model, probe);
    this.#loading.delete(model.key);
    // The first load of a process starts the engine as well, which is not the fault of the model.
    const processorMs = this.#addedBytes.size === 0 ? undefined : cost?.processorMs;
    this.#addedBytes.set(model.key, cost?.addedBytes ?? 0);
    this.#residentBytes = Math.max(this.#residentBytes, residentBytes);
    this.#check(model, (isUnchanged) => {
      if (isUnchanged) {
        this.#group.loaded(this, model, loadMs, processorMs);
        return;
      }
      this.unload({ model });
      this.#group.filesChanged(this, model, changedReason(model));
    });
  }

  #loadFailed({ model: handle, message, isFinal }: LoadFailedMessage): void {
    const model = this.#modelOf(handle);
    this.#loading.delete(model.key);
    this.#group.loadFailed(this, model, message, isFinal === true);
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

function changedReason({ key }: ServedModel): string {
  return `the files of ${key} have changed since they were read; they are served once they are read again: in the modes poll and none by themselves, in explicit mode by a load request`;
}
