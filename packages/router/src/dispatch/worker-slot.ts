import { cleanRestartRecord, restartAfter, type WorkerId } from '@millrace/core';
import { type FromWorker, type LoadSpec, MalformedFrame, type WorkerLink } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import { loadSpecAt, takePlaceAt } from '../model/instance-places.ts';
import type { GroupedModel, RunningGroup, WorkerFleetParts } from './worker-fleet.ts';

/** A worker that was told to stop, and has nothing left to run, has this long to end by itself. */
export const stopMsMax = 5000;

/** How long after a failed load a model that was served before, or is by other workers, is tried again. */
export const reloadPauseMs = 5000;

/** One place in a group: always the same models under the same id, a new worker whenever the last one is gone. */
export class WorkerSlot {
  readonly worker: WorkerId;
  /** Among the workers of its group. */
  readonly #position: number;
  readonly #running: RunningGroup;
  readonly #parts: WorkerFleetParts;
  readonly #served = new Set<ServedModel>();
  /** By this worker or an earlier one in its place. */
  readonly #everServed = new Set<ServedModel>();
  /** Those that it could not load, and that nobody else could when it was to be decided whether to try again. */
  readonly #givenUp = new Set<ServedModel>();
  #record = cleanRestartRecord;
  #link: WorkerLink | undefined;
  /** When its last load ended; undefined before. */
  #settledAt: number | undefined;
  #hasSettled: boolean = false;
  #residentBytes = 0;
  #batchesAnswered = 0;
  /** Those of its models of which it has not said yet whether they are loaded. */
  readonly #loading = new Set<ServedModel>();
  #cancelLoadLimit: (() => void) | undefined;
  /** What it was killed for while it loaded, if it was. */
  #loadVerdict: string | undefined;
  #cancelRestart: (() => void) | undefined;
  readonly #onGone: (() => void)[] = [];
  #isStopping: boolean = false;

  constructor(running: RunningGroup, parts: WorkerFleetParts, worker: WorkerId, position: number) {
    this.#running = running;
    this.#parts = parts;
    this.worker = worker;
    this.#position = position;
  }

  /** It has loaded its models once, failed to, or died. */
  get hasSettled(): boolean {
    return this.#hasSettled;
  }

  get pid(): number | undefined {
    return this.#link?.pid;
  }

  /** What the worker said it held after its last load; 0 before. */
  get residentBytes(): number {
    return this.#link === undefined ? 0 : this.#residentBytes;
  }

  open(): void {
    const { clock, loadMsMax } = this.#parts;
    const { lane, models, name } = this.#running.group;
    const link = lane.open((message) => this.#receive(message));
    this.#link = link;
    this.#settledAt = undefined;
    this.#residentBytes = 0;
    this.#batchesAnswered = 0;
    for (const { model } of models) this.#loading.add(model);
    this.#givenUp.clear();
    this.#loadVerdict = undefined;
    this.#cancelLoadLimit = clock.after(loadMsMax, () => {
      const names = [...this.#loading].map(({ key }) => key).join(', ');
      this.#loadVerdict = `it had not loaded ${names} within worker.loadSecondsMax, ${loadMsMax / 1000} s`;
      link.kill();
    });
    this.#parts.workers.attach(this.worker, link);
    for (const entry of models) link.send({ kind: 'load', spec: this.#specOf(entry) });
    this.#parts.listener.workerStarted(name, this.worker, link.pid);
  }

  async stop(stopMs: number): Promise<void> {
    const cancelLimit = this.#parts.clock.after(stopMs, () => this.#link?.kill());
    await this.#end((link) => link.stop());
    cancelLimit();
  }

  kill(): Promise<void> {
    return this.#end((link) => link.kill());
  }

  #end(how: (link: WorkerLink) => void): Promise<void> {
    this.#cancelRestart?.();
    const link = this.#link;
    if (link === undefined) return Promise.resolve();
    if (!this.#isStopping) this.#parts.listener.workerStopping(this.worker);
    this.#isStopping = true;
    how(link);
    return new Promise((resolve) => {
      this.#onGone.push(resolve);
    });
  }

  #receive(message: FromWorker): void {
    const { workers } = this.#parts;
    switch (message.kind) {
      case 'credit':
        workers.workerCredit(this.worker, message.batchesMax);
        break;
      case 'ready': {
        // A worker that is being stopped may still finish a load; nothing is run there.
        if (this.#isStopping) break;
        const model = this.#modelOf(message.model);
        this.#served.add(model);
        this.#everServed.add(model);
        this.#residentBytes = Math.max(this.#residentBytes, message.residentBytes);
        this.#parts.listener.modelLoaded(model, message.loadMs);
        this.#running.workerServes(this.worker, model, this.#priorityMaxOf(model));
        this.#settled(model);
        break;
      }
      case 'load-failed': {
        if (this.#isStopping) break;
        const model = this.#modelOf(message.model);
        this.#running.modelUnservable(model, this.worker, message.message, message.isFinal);
        this.#settled(model);
        const isNeeded = this.#everServed.has(model) || this.#running.isServed(model);
        if (isNeeded && message.isFinal !== true) this.#loadAgainLater(model);
        else this.#givenUp.add(model);
        break;
      }
      case 'answered':
        this.#batchesAnswered += 1;
        workers.batchAnswered(message);
        break;
      case 'failed':
        workers.batchFailed(message);
        break;
      case 'call':
        workers.workerCalls(this.worker, message);
        break;
      case 'call-cancelled':
        workers.callCancelled(message);
        break;
      case 'gone':
        this.#gone(message.reason);
        break;
    }
  }

  /** Another worker can load the model: what kept this one from it may pass. */
  noteServedByOther(model: ServedModel): void {
    if (this.#givenUp.delete(model)) this.#loadAgainLater(model);
  }

  /** A model that was served before may be good again soon: its folder was being replaced, or files ran out. */
  #loadAgainLater(model: ServedModel): void {
    const link = this.#link;
    this.#parts.clock.alarm(reloadPauseMs, () => {
      if (link === undefined || this.#link !== link || this.#isStopping) return;
      this.#loading.add(model);
      const entry = this.#running.group.models.find((candidate) => candidate.model === model);
      if (entry !== undefined) link.send({ kind: 'load', spec: this.#specOf(entry) });
    });
  }

  #specOf({ spec, places }: GroupedModel): LoadSpec {
    return loadSpecAt(spec, places, this.#position);
  }

  #priorityMaxOf(model: ServedModel): number {
    const places = this.#running.group.models.find((entry) => entry.model === model)?.places ?? [];
    return takePlaceAt(places, this.#position)?.priorityMax ?? Number.POSITIVE_INFINITY;
  }

  #settled(model: ServedModel): void {
    this.#loading.delete(model);
    if (this.#loading.size > 0) return;
    this.#cancelLoadLimit?.();
    this.#settledAt = this.#parts.clock.now();
    this.#parts.listener.workerReady(this.#running.group.name, this.worker, this.#link?.pid);
    this.#noteSettled();
  }

  #noteSettled(): void {
    if (this.#hasSettled) return;
    this.#hasSettled = true;
    this.#running.workerSettled();
  }

  #modelOf(handle: number): ServedModel {
    const { models, name } = this.#running.group;
    const entry = models.find(({ spec }) => spec.model === handle);
    // To the lane, whose business it is what becomes of a worker that talks nonsense.
    if (entry === undefined) throw new MalformedFrame(`a worker of group ${name} speaks of unknown model ${handle}`);
    return entry.model;
  }

  #gone(lastWords: string): void {
    const verdict = this.#loadVerdict;
    const reason = verdict === undefined ? lastWords : `${verdict}, and was killed; ${lastWords}`;
    this.#link = undefined;
    this.#cancelLoadLimit?.();
    for (const model of this.#served) this.#running.workerServedUntilNow(model);
    this.#served.clear();
    const { clock, workers, listener, random } = this.#parts;
    const { name, models } = this.#running.group;
    workers.workerGone(this.worker);
    if (this.#isStopping) {
      listener.workerGone(name, this.worker, reason, undefined);
      for (const listener of this.#onGone.splice(0)) listener();
      return;
    }
    const aliveMs = this.#settledAt === undefined ? 0 : clock.now() - this.#settledAt;
    const life = { aliveMs, batchesAnswered: this.#batchesAnswered };
    const restart = restartAfter(this.#record, life, random());
    this.#record = restart.record;
    listener.workerGone(name, this.worker, reason, restart.pauseMs);
    this.#cancelRestart = clock.after(restart.pauseMs, () => this.open());
    // Said at once: a crash loop of such long lives would be found out too late.
    if (verdict !== undefined)
      for (const model of this.#loading) this.#running.modelUnservable(model, this.worker, reason);
    if (restart.isCrashLoop) {
      const summary = `its worker died ${restart.record.deaths} times in a row without an answer, last: ${reason}`;
      for (const { model } of models) this.#running.modelUnservable(model, this.worker, summary);
    }
    this.#noteSettled();
  }
}
