/** Which models a supervised worker has loaded, is loading or could not load, with the time limit for loads. */
import type { WorkerId } from '@millrace/core';
import { type FromWorker, type LoadSpec, MalformedFrame, type WorkerLink } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import { loadSpecAt, takePlacementAt } from '../model/instance-placements.ts';
import type { FleetListener } from './fleet-listener.ts';
import type { GroupedModel, WorkerGroup } from './worker-group.ts';

/** How long after a failed load the next attempt is made, for a model that was served before or is served by other workers. */
export const reloadPauseMs = 5000;

/** The group of a supervised worker, which is told what the worker does. */
export interface SupervisedGroup {
  readonly group: WorkerGroup;
  isServed(model: ServedModel): boolean;
  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void;
  /** The worker that served the model has exited. */
  workerServedUntilNow(model: ServedModel): void;
  /** The worker cannot load the model, or is in a crash loop. `isFinal`: with the same files no load can succeed. */
  modelUnservable(model: ServedModel, worker: WorkerId, reason: string, isFinal?: boolean): void;
  /** The worker has loaded the models once, failed to load them, or exited. */
  workerSettled(): void;
}

export interface SupervisedLoadsParts {
  readonly clock: Clock;
  /** A worker whose loads have not ended, in success or failure, within this time is killed. */
  readonly loadMsMax: number;
  readonly listener: FleetListener;
}

export class SupervisedLoads {
  readonly #runningGroup: SupervisedGroup;
  readonly #parts: SupervisedLoadsParts;
  readonly #worker: WorkerId;
  /** The worker's position in its group. */
  readonly #position: number;
  readonly #served = new Set<ServedModel>();
  /** Models that this worker, or one that it replaced, has served. */
  readonly #everServed = new Set<ServedModel>();
  /** Models that it could not load, and that no other worker had loaded when the retry was decided. */
  readonly #givenUp = new Set<ServedModel>();
  /** Models whose load has not ended yet. */
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

  constructor(runningGroup: SupervisedGroup, parts: SupervisedLoadsParts, worker: WorkerId, position: number) {
    this.#runningGroup = runningGroup;
    this.#parts = parts;
    this.#worker = worker;
    this.#position = position;
  }

  /** The models have been loaded once, have failed to load, or the worker has exited. */
  get hasSettled(): boolean {
    return this.#hasSettled;
  }

  /** When the last load of the current worker, or of the previous one, ended; undefined: none has. */
  get settledAt(): number | undefined {
    return this.#settledAt;
  }

  /** The resident memory that the worker reported after its last load; 0 before. */
  get residentBytes(): number {
    return this.#residentBytes;
  }

  /** Makes a new worker load all models of the group. */
  begin(link: WorkerLink): void {
    const { models } = this.#runningGroup.group;
    this.#link = link;
    this.#settledAt = undefined;
    this.#residentBytes = 0;
    for (const { model } of models) this.#loading.add(model);
    this.#givenUp.clear();
    this.#limitReason = undefined;
    this.#startLimit(link);
    for (const entry of models) link.send({ kind: 'load', spec: this.#specOf(entry) });
  }

  loaded({ model: handle, residentBytes, loadMs }: Extract<FromWorker, { kind: 'ready' }>): void {
    const model = this.#modelOf(handle);
    this.#served.add(model);
    this.#everServed.add(model);
    this.#residentBytes = Math.max(this.#residentBytes, residentBytes);
    this.#parts.listener.modelLoaded(model, loadMs);
    this.#runningGroup.workerServes(this.#worker, model, this.#priorityMaxOf(model));
    this.#settled(model);
  }

  failed({ model: handle, message, isFinal }: Extract<FromWorker, { kind: 'load-failed' }>): void {
    const model = this.#modelOf(handle);
    this.#runningGroup.modelUnservable(model, this.#worker, message, isFinal);
    this.#settled(model);
    const isNeeded = this.#everServed.has(model) || this.#runningGroup.isServed(model);
    if (isNeeded && isFinal !== true) this.#loadAgainLater(model);
    else this.#givenUp.add(model);
  }

  /** Another worker has loaded the model: what prevented this one may be temporary. */
  noteServedByOther(model: ServedModel): void {
    if (this.#givenUp.delete(model)) this.#loadAgainLater(model);
  }

  /** The worker is being stopped: nothing is loaded any more, and the time limit for its exit is the one that counts. */
  stop(): void {
    this.#isStopping = true;
    this.#cancelLimit?.();
  }

  /** The worker has exited. Returns why it was killed while it loaded; undefined: it was not. */
  end(): string | undefined {
    this.#link = undefined;
    this.#cancelLimit?.();
    for (const model of this.#served) this.#runningGroup.workerServedUntilNow(model);
    this.#served.clear();
    return this.#limitReason;
  }

  /** Reports the models that a worker was still loading when it was killed for the load time limit: none of them can be served. */
  reportUnloaded(reason: string): void {
    for (const model of this.#loading) this.#runningGroup.modelUnservable(model, this.#worker, reason);
  }

  noteSettled(): void {
    if (this.#hasSettled) return;
    this.#hasSettled = true;
    this.#runningGroup.workerSettled();
  }

  /** Kills the worker if what it loads now takes too long. */
  #startLimit(link: WorkerLink): void {
    const { clock, loadMsMax } = this.#parts;
    this.#cancelLimit?.();
    this.#cancelLimit = clock.after(loadMsMax, () => {
      const names = [...this.#loading].map(({ key }) => key).join(', ');
      this.#limitReason = `loading ${names} took longer than ${loadMsMax / 1000} s (worker.loadSecondsMax)`;
      link.kill();
    });
  }

  #settled(model: ServedModel): void {
    this.#loading.delete(model);
    if (this.#loading.size > 0) return;
    this.#cancelLimit?.();
    this.#settledAt = this.#parts.clock.now();
    this.#parts.listener.workerReady(this.#runningGroup.group.name, this.#worker, this.#link?.pid);
    this.noteSettled();
  }

  /** Retries later: the failure may be temporary (the model's folder was being replaced, or file descriptors ran out). */
  #loadAgainLater(model: ServedModel): void {
    const link = this.#link;
    this.#parts.clock.alarm(reloadPauseMs, () => {
      if (link === undefined || this.#link !== link || this.#isStopping) return;
      this.#loading.add(model);
      this.#startLimit(link);
      const entry = this.#runningGroup.group.models.find((candidate) => candidate.model === model);
      if (entry !== undefined) link.send({ kind: 'load', spec: this.#specOf(entry) });
    });
  }

  #specOf({ spec, placements }: GroupedModel): LoadSpec {
    return loadSpecAt(spec, placements, this.#position);
  }

  #priorityMaxOf(model: ServedModel): number {
    const placements = this.#runningGroup.group.models.find((entry) => entry.model === model)?.placements ?? [];
    return takePlacementAt(placements, this.#position)?.priorityMax ?? Number.POSITIVE_INFINITY;
  }

  #modelOf(handle: number): ServedModel {
    const { models, name } = this.#runningGroup.group;
    const entry = models.find(({ spec }) => spec.model === handle);
    // Caught by the lane, which kills a worker that violates the protocol.
    if (entry === undefined)
      throw new MalformedFrame(`a worker of group ${name} sent a message about unknown model ${handle}`);
    return entry.model;
  }
}
