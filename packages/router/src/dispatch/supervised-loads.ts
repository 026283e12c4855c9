/** Which models the worker of a slot has loaded, is loading or could not load, and for how long it may try. */
import type { WorkerId } from '@millrace/core';
import { type FromWorker, type LoadSpec, MalformedFrame, type WorkerLink } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import { loadSpecAt, takePlacementAt } from '../model/instance-placements.ts';
import type { FleetListener } from './fleet-listener.ts';
import type { GroupedModel, WorkerGroup } from './worker-group.ts';

/** How long after a failed load a model that was served before, or is by other workers, is tried again. */
export const reloadPauseMs = 5000;

/** The group that a slot belongs to, as the slot tells it what its worker does. */
export interface SupervisedGroup {
  readonly group: WorkerGroup;
  isServed(model: ServedModel): boolean;
  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void;
  /** Its worker, which served the model, is gone. */
  workerServedUntilNow(model: ServedModel): void;
  /** Its worker cannot load the model, or its workers keep dying. `isFinal`: with the same files no load can succeed. */
  modelUnservable(model: ServedModel, worker: WorkerId, reason: string, isFinal?: boolean): void;
  /** Its worker has loaded the models once, failed to, or died. */
  workerSettled(): void;
}

export interface SupervisedLoadsParts {
  readonly clock: Clock;
  /** A worker that has not loaded its models by then, or failed to, is killed. */
  readonly loadMsMax: number;
  readonly listener: FleetListener;
}

export class SupervisedLoads {
  readonly #slotGroup: SupervisedGroup;
  readonly #parts: SupervisedLoadsParts;
  readonly #worker: WorkerId;
  /** Among the workers of its group. */
  readonly #position: number;
  readonly #served = new Set<ServedModel>();
  /** By this worker or an earlier one of the slot. */
  readonly #everServed = new Set<ServedModel>();
  /** Those that it could not load, and that nobody else could when it was to be decided whether to try again. */
  readonly #givenUp = new Set<ServedModel>();
  /** Those of which the worker has not said yet whether they are loaded. */
  readonly #loading = new Set<ServedModel>();
  #link: WorkerLink | undefined;
  /** When its last load ended; undefined before. */
  #settledAt: number | undefined;
  #hasSettled: boolean = false;
  #residentBytes = 0;
  #cancelLimit: (() => void) | undefined;
  /** Why the worker was killed while it loaded, if it was. */
  #limitReason: string | undefined;
  #isStopping: boolean = false;

  constructor(slotGroup: SupervisedGroup, parts: SupervisedLoadsParts, worker: WorkerId, position: number) {
    this.#slotGroup = slotGroup;
    this.#parts = parts;
    this.#worker = worker;
    this.#position = position;
  }

  /** The models have been loaded once, have failed to, or the worker died. */
  get hasSettled(): boolean {
    return this.#hasSettled;
  }

  /** When the last load of the present worker ended, or of the last one; undefined: none has. */
  get settledAt(): number | undefined {
    return this.#settledAt;
  }

  /** What the worker said it held after its last load; 0 before. */
  get residentBytes(): number {
    return this.#residentBytes;
  }

  /** Has a new worker load all models of the group. */
  begin(link: WorkerLink): void {
    const { clock, loadMsMax } = this.#parts;
    const { models } = this.#slotGroup.group;
    this.#link = link;
    this.#settledAt = undefined;
    this.#residentBytes = 0;
    for (const { model } of models) this.#loading.add(model);
    this.#givenUp.clear();
    this.#limitReason = undefined;
    this.#cancelLimit = clock.after(loadMsMax, () => {
      const names = [...this.#loading].map(({ key }) => key).join(', ');
      this.#limitReason = `it had not loaded ${names} within worker.loadSecondsMax, ${loadMsMax / 1000} s`;
      link.kill();
    });
    for (const entry of models) link.send({ kind: 'load', spec: this.#specOf(entry) });
  }

  loaded({ model: handle, residentBytes, loadMs }: Extract<FromWorker, { kind: 'ready' }>): void {
    const model = this.#modelOf(handle);
    this.#served.add(model);
    this.#everServed.add(model);
    this.#residentBytes = Math.max(this.#residentBytes, residentBytes);
    this.#parts.listener.modelLoaded(model, loadMs);
    this.#slotGroup.workerServes(this.#worker, model, this.#priorityMaxOf(model));
    this.#settled(model);
  }

  failed({ model: handle, message, isFinal }: Extract<FromWorker, { kind: 'load-failed' }>): void {
    const model = this.#modelOf(handle);
    this.#slotGroup.modelUnservable(model, this.#worker, message, isFinal);
    this.#settled(model);
    const isNeeded = this.#everServed.has(model) || this.#slotGroup.isServed(model);
    if (isNeeded && isFinal !== true) this.#loadAgainLater(model);
    else this.#givenUp.add(model);
  }

  /** Another worker can load the model: what kept this one from it may pass. */
  noteServedByOther(model: ServedModel): void {
    if (this.#givenUp.delete(model)) this.#loadAgainLater(model);
  }

  /** The worker is being stopped: nothing is loaded any more. */
  stop(): void {
    this.#isStopping = true;
  }

  /** The worker is gone. Returns why it was killed while it loaded; undefined: it was not. */
  end(): string | undefined {
    this.#link = undefined;
    this.#cancelLimit?.();
    for (const model of this.#served) this.#slotGroup.workerServedUntilNow(model);
    this.#served.clear();
    return this.#limitReason;
  }

  /** Of a worker that was killed for the time that it took: none of the models that it was still loading can be served. */
  reportUnloaded(reason: string): void {
    for (const model of this.#loading) this.#slotGroup.modelUnservable(model, this.#worker, reason);
  }

  noteSettled(): void {
    if (this.#hasSettled) return;
    this.#hasSettled = true;
    this.#slotGroup.workerSettled();
  }

  #settled(model: ServedModel): void {
    this.#loading.delete(model);
    if (this.#loading.size > 0) return;
    this.#cancelLimit?.();
    this.#settledAt = this.#parts.clock.now();
    this.#parts.listener.workerReady(this.#slotGroup.group.name, this.#worker, this.#link?.pid);
    this.noteSettled();
  }

  /** A model that was served before may be good again soon: its folder was being replaced, or files ran out. */
  #loadAgainLater(model: ServedModel): void {
    const link = this.#link;
    this.#parts.clock.alarm(reloadPauseMs, () => {
      if (link === undefined || this.#link !== link || this.#isStopping) return;
      this.#loading.add(model);
      const entry = this.#slotGroup.group.models.find((candidate) => candidate.model === model);
      if (entry !== undefined) link.send({ kind: 'load', spec: this.#specOf(entry) });
    });
  }

  #specOf({ spec, placements }: GroupedModel): LoadSpec {
    return loadSpecAt(spec, placements, this.#position);
  }

  #priorityMaxOf(model: ServedModel): number {
    const placements = this.#slotGroup.group.models.find((entry) => entry.model === model)?.placements ?? [];
    return takePlacementAt(placements, this.#position)?.priorityMax ?? Number.POSITIVE_INFINITY;
  }

  #modelOf(handle: number): ServedModel {
    const { models, name } = this.#slotGroup.group;
    const entry = models.find(({ spec }) => spec.model === handle);
    // To the lane, which decides what becomes of a worker that sends nonsense.
    if (entry === undefined) throw new MalformedFrame(`a worker of group ${name} speaks of unknown model ${handle}`);
    return entry.model;
  }
}
