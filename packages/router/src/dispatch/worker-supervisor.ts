/**
 * Supervises one worker: starts, stops and kills it, and replaces it after a pause when it exits. What it loads is in
 * supervised-loads.ts.
 */
import { cleanRestartRecord, restartAfter, type WorkerId } from '@millrace/core';
import type { FromWorker, WorkerLink } from '@millrace/protocol';
import type { ModelRoster } from '../data-plane/model-roster.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import { type SupervisedGroup, SupervisedLoads, type SupervisedLoadsParts } from './supervised-loads.ts';

/** How long a worker that was told to stop, and has nothing left to run, may take to exit. */
export const stopMsMax = 5000;

export interface WorkerParts extends SupervisedLoadsParts {
  readonly workers: WorkerEvents;
  readonly roster: Pick<ModelRoster, 'add' | 'remove'>;
  /** In [0, 1): jitter of restarts. */
  readonly random: () => number;
}

/** One position in a group: always the same models under the same id, with a new worker whenever the last one has exited. */
export class WorkerSupervisor {
  readonly worker: WorkerId;
  readonly #runningGroup: SupervisedGroup;
  readonly #parts: WorkerParts;
  readonly #loads: SupervisedLoads;
  #record = cleanRestartRecord;
  #link: WorkerLink | undefined;
  #batchesAnswered = 0;
  #cancelRestart: (() => void) | undefined;
  readonly #onGone: (() => void)[] = [];
  #isStopping: boolean = false;

  constructor(runningGroup: SupervisedGroup, parts: WorkerParts, worker: WorkerId, position: number) {
    this.#runningGroup = runningGroup;
    this.#parts = parts;
    this.worker = worker;
    this.#loads = new SupervisedLoads(runningGroup, parts, worker, position);
  }

  /** It has loaded its models once, failed to load them, or exited. */
  get hasSettled(): boolean {
    return this.#loads.hasSettled;
  }

  get pid(): number | undefined {
    return this.#link?.pid;
  }

  /** The resident memory that the worker reported after its last load; 0 before. */
  get residentBytes(): number {
    return this.#link === undefined ? 0 : this.#loads.residentBytes;
  }

  open(): void {
    const { lane, name } = this.#runningGroup.group;
    const link = lane.open((message) => this.#receive(message));
    this.#link = link;
    this.#batchesAnswered = 0;
    this.#parts.workers.attach(this.worker, link);
    this.#loads.begin(link);
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

  /** Another worker has loaded the model: what prevented this one may be temporary. */
  noteServedByOther(model: ServedModel): void {
    this.#loads.noteServedByOther(model);
  }

  #end(how: (link: WorkerLink) => void): Promise<void> {
    this.#cancelRestart?.();
    const link = this.#link;
    if (link === undefined) return Promise.resolve();
    if (!this.#isStopping) this.#parts.listener.workerStopping(this.worker);
    this.#isStopping = true;
    this.#loads.stop();
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
      // A stopping worker may still finish a load; it gets no batches.
      case 'ready':
        if (!this.#isStopping) this.#loads.loaded(message);
        break;
      case 'load-failed':
        if (!this.#isStopping) this.#loads.failed(message);
        break;
      case 'answered':
        this.#batchesAnswered += 1;
        workers.batchAnswered(message);
        break;
      case 'partial-answer':
        workers.batchProgressed(message);
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

  #gone(exitReason: string): void {
    this.#link = undefined;
    const limitReason = this.#loads.end();
    const reason = limitReason === undefined ? exitReason : `${limitReason}, and the worker was killed; ${exitReason}`;
    const { workers, listener } = this.#parts;
    workers.workerGone(this.worker);
    if (this.#isStopping) {
      listener.workerGone(this.#runningGroup.group.name, this.worker, reason, undefined);
      for (const resolve of this.#onGone.splice(0)) resolve();
      return;
    }
    const deathsInLoop = this.#restartLater(reason);
    // Reported at once: with loads this long a crash loop would be detected too late.
    if (limitReason !== undefined) this.#loads.reportUnloaded(reason);
    if (deathsInLoop !== undefined) {
      const summary = `crash loop: its worker exited ${deathsInLoop} times in a row without an answer, last: ${reason}`;
      for (const { model } of this.#runningGroup.group.models) {
        this.#runningGroup.modelUnservable(model, this.worker, summary);
      }
    }
    this.#loads.noteSettled();
  }

  /** Starts a new worker after a pause. Returns how many exited in a row where that is a crash loop. */
  #restartLater(reason: string): number | undefined {
    const { clock, listener, random } = this.#parts;
    const { settledAt } = this.#loads;
    const aliveMs = settledAt === undefined ? 0 : clock.now() - settledAt;
    const life = { aliveMs, batchesAnswered: this.#batchesAnswered };
    const { record, pauseMs, isCrashLoop } = restartAfter(this.#record, life, random());
    this.#record = record;
    listener.workerGone(this.#runningGroup.group.name, this.worker, reason, pauseMs);
    this.#cancelRestart = clock.after(pauseMs, () => this.open());
    return isCrashLoop ? record.deaths : undefined;
  }
}
