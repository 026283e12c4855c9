/**
 * Keeps the workers alive: opens links, has models loaded, tells the data plane who serves what, and starts a worker
 * anew when one is gone, as the restart policy says.
 */
import { cleanRestartRecord, restartAfter, type WorkerId } from '@millrace/core';
import type { FromWorker, Lane, LoadSpec, WorkerLink } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';
import type { LiveDataPlane } from '../data-plane/live-data-plane.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { ServedModels } from '../registry/served-models.ts';

/** A worker that was told to stop, and has nothing left to run, has this long to end by itself. */
export const stopMsMax = 5000;

/** How long after a failed load a model that was served before is tried again. */
export const reloadPauseMs = 5000;

/** Models that share worker processes: usually one model, or several small ones in a named group. */
export interface WorkerGroup {
  readonly name: string;
  readonly lane: Lane;
  /** How many workers hold all of the models each. */
  readonly workers: number;
  readonly models: readonly { readonly model: ServedModel; readonly spec: LoadSpec }[];
}

/** What the fleet tells whoever watches it: the log, the metrics, the start-up screen. */
export interface FleetListener {
  /** The model takes requests from now on. */
  modelReady(model: ServedModel): void;
  /** A worker, the first or a later one, has loaded the model. */
  modelLoaded(model: ServedModel, loadMs: number): void;
  modelFailed(model: ServedModel, reason: string): void;
  /** One of its workers cannot serve the model; others do, so callers notice no more than fewer hands. */
  modelShortOfWorker(model: ServedModel, worker: WorkerId, reason: string): void;
  workerStarted(group: string, worker: WorkerId, pid: number | undefined): void;
  /** Every model of its group is loaded, or has failed to. */
  workerReady(group: string, worker: WorkerId, pid: number | undefined): void;
  workerStopping(worker: WorkerId): void;
  /** `restartInMs` is undefined when nothing takes its place. */
  workerGone(group: string, worker: WorkerId, reason: string, restartInMs: number | undefined): void;
}

export interface WorkerFleetParts {
  readonly groups: readonly WorkerGroup[];
  readonly dataPlane: LiveDataPlane;
  readonly models: ServedModels;
  readonly clock: Clock;
  /** In [0, 1): spreads restarts. */
  readonly random: () => number;
  /** A worker that has not loaded its models by then, or failed to, is killed. */
  readonly loadMsMax: number;
  readonly listener: FleetListener;
}

export class WorkerFleet {
  readonly #parts: WorkerFleetParts;
  readonly #slots: WorkerSlot[] = [];
  readonly #serving = new Map<ServedModel, number>();

  constructor(parts: WorkerFleetParts) {
    this.#parts = parts;
    for (const group of parts.groups) {
      for (let index = 0; index < group.workers; index++) {
        this.#slots.push(new WorkerSlot(this, parts, group, this.#slots.length + 1));
      }
    }
  }

  start(): void {
    for (const slot of this.#slots) slot.open();
  }

  /**
   * Lets every worker end by itself and kills those that take longer than `stopMsMax`, hung or in a long load; resolves
   * when all are gone. The data plane has been drained before.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.stop()));
  }

  /** Ends every worker now; resolves when all are gone. */
  async kill(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.kill()));
  }

  workerServes(worker: WorkerId, model: ServedModel): void {
    const serving = this.#serving.get(model) ?? 0;
    this.#serving.set(model, serving + 1);
    const { dataPlane, models, listener } = this.#parts;
    if (!models.isReady(model)) {
      dataPlane.addModel(model);
      models.setState(model, 'ready', '');
      listener.modelReady(model);
    }
    dataPlane.workerServes(worker, model);
  }

  workerServedUntilNow(model: ServedModel): void {
    this.#serving.set(model, (this.#serving.get(model) ?? 1) - 1);
  }

  /** A load failed or the workers keep dying. Where another worker serves the model, callers notice nothing. */
  modelUnservable(model: ServedModel, worker: WorkerId, reason: string): void {
    const { dataPlane, models, listener } = this.#parts;
    if ((this.#serving.get(model) ?? 0) > 0) {
      listener.modelShortOfWorker(model, worker, reason);
      return;
    }
    if (models.isReady(model)) dataPlane.removeModel(model);
    models.setState(model, 'failed', reason);
    listener.modelFailed(model, reason);
  }
}

/** One place in the fleet: always the same models under the same id, a new worker whenever the last one is gone. */
class WorkerSlot {
  readonly #fleet: WorkerFleet;
  readonly #parts: WorkerFleetParts;
  readonly #group: WorkerGroup;
  readonly #worker: WorkerId;
  readonly #served = new Set<ServedModel>();
  /** By this worker or an earlier one in its place. */
  readonly #everServed = new Set<ServedModel>();
  #record = cleanRestartRecord;
  #link: WorkerLink | undefined;
  /** When its last load ended; undefined before. */
  #settledAt: number | undefined;
  #batchesAnswered = 0;
  /** Those of its models of which it has not said yet whether they are loaded. */
  readonly #loading = new Set<ServedModel>();
  #cancelLoadLimit: (() => void) | undefined;
  /** What it was killed for while it loaded, if it was. */
  #loadVerdict: string | undefined;
  #cancelRestart: (() => void) | undefined;
  readonly #onGone: (() => void)[] = [];
  #isStopping: boolean = false;

  constructor(fleet: WorkerFleet, parts: WorkerFleetParts, group: WorkerGroup, worker: WorkerId) {
    this.#fleet = fleet;
    this.#parts = parts;
    this.#group = group;
    this.#worker = worker;
  }

  open(): void {
    const { clock, loadMsMax } = this.#parts;
    const link = this.#group.lane.open((message) => this.#receive(message));
    this.#link = link;
    this.#settledAt = undefined;
    this.#batchesAnswered = 0;
    for (const { model } of this.#group.models) this.#loading.add(model);
    this.#loadVerdict = undefined;
    this.#cancelLoadLimit = clock.after(loadMsMax, () => {
      const names = [...this.#loading].map(({ key }) => key).join(', ');
      this.#loadVerdict = `it had not loaded ${names} within worker.loadSecondsMax, ${loadMsMax / 1000} s`;
      link.kill();
    });
    this.#parts.dataPlane.attach(this.#worker, link);
    for (const { spec } of this.#group.models) link.send({ kind: 'load', spec });
    this.#parts.listener.workerStarted(this.#group.name, this.#worker, link.pid);
  }

  async stop(): Promise<void> {
    const cancelLimit = this.#parts.clock.after(stopMsMax, () => this.#link?.kill());
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
    if (!this.#isStopping) this.#parts.listener.workerStopping(this.#worker);
    this.#isStopping = true;
    how(link);
    return new Promise((resolve) => {
      this.#onGone.push(resolve);
    });
  }

  #receive(message: FromWorker): void {
    const { dataPlane } = this.#parts;
    switch (message.kind) {
      case 'credit':
        dataPlane.workerCredit(this.#worker, message.batchesMax);
        break;
      case 'ready': {
        const model = this.#modelOf(message.model);
        this.#served.add(model);
        this.#everServed.add(model);
        this.#parts.listener.modelLoaded(model, message.loadMs);
        this.#fleet.workerServes(this.#worker, model);
        this.#settled(model);
        break;
      }
      case 'load-failed': {
        const model = this.#modelOf(message.model);
        this.#fleet.modelUnservable(model, this.#worker, message.message);
        this.#settled(model);
        if (this.#everServed.has(model)) this.#loadAgainLater(model);
        break;
      }
      case 'answered':
        this.#batchesAnswered += 1;
        dataPlane.batchAnswered(message);
        break;
      case 'failed':
        dataPlane.batchFailed(message);
        break;
      case 'gone':
        this.#gone(message.reason);
        break;
    }
  }

  /** A model that was served before may be good again soon: its folder was being replaced, or files ran out. */
  #loadAgainLater(model: ServedModel): void {
    const link = this.#link;
    this.#parts.clock.alarm(reloadPauseMs, () => {
      if (link === undefined || this.#link !== link || this.#isStopping) return;
      this.#loading.add(model);
      const spec = this.#group.models.find((entry) => entry.model === model)?.spec;
      if (spec !== undefined) link.send({ kind: 'load', spec });
    });
  }

  #settled(model: ServedModel): void {
    this.#loading.delete(model);
    if (this.#loading.size > 0) return;
    this.#cancelLoadLimit?.();
    this.#settledAt = this.#parts.clock.now();
    this.#parts.listener.workerReady(this.#group.name, this.#worker, this.#link?.pid);
  }

  #modelOf(handle: number): ServedModel {
    const entry = this.#group.models.find(({ spec }) => spec.model === handle);
    if (entry === undefined) throw new Error(`a worker of group ${this.#group.name} speaks of unknown model ${handle}`);
    return entry.model;
  }

  #gone(lastWords: string): void {
    const verdict = this.#loadVerdict;
    const reason = verdict === undefined ? lastWords : `${verdict}, and was killed; ${lastWords}`;
    this.#link = undefined;
    this.#cancelLoadLimit?.();
    for (const model of this.#served) this.#fleet.workerServedUntilNow(model);
    this.#served.clear();
    const { clock, dataPlane, listener, random } = this.#parts;
    dataPlane.workerGone(this.#worker);
    if (this.#isStopping) {
      listener.workerGone(this.#group.name, this.#worker, reason, undefined);
      for (const listener of this.#onGone.splice(0)) listener();
      return;
    }
    const aliveMs = this.#settledAt === undefined ? 0 : clock.now() - this.#settledAt;
    const life = { aliveMs, batchesAnswered: this.#batchesAnswered };
    const restart = restartAfter(this.#record, life, random());
    this.#record = restart.record;
    listener.workerGone(this.#group.name, this.#worker, reason, restart.pauseMs);
    // Said at once: a crash loop of such long lives would be found out too late.
    if (verdict !== undefined)
      for (const model of this.#loading) this.#fleet.modelUnservable(model, this.#worker, reason);
    if (restart.isCrashLoop) {
      const summary = `its worker died ${restart.record.deaths} times in a row without an answer, last: ${reason}`;
      for (const { model } of this.#group.models) this.#fleet.modelUnservable(model, this.#worker, summary);
    }
    this.#cancelRestart = clock.after(restart.pauseMs, () => this.open());
  }
}
