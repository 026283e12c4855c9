/**
 * The life of the workers of one slot: started, stopped or killed, and started again after a pause when one dies. What
 * they load is in slot-loads.ts.
 */
import { cleanRestartRecord, restartAfter, type WorkerId } from '@millrace/core';
import type { FromWorker, WorkerLink } from '@millrace/protocol';
import type { ModelRoster } from '../data-plane/model-roster.ts';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { WorkerEvents } from '../data-plane/worker-events.ts';
import { type SupervisedGroup, SupervisedLoads, type SupervisedLoadsParts } from './supervised-loads.ts';

/** A worker that was told to stop, and has nothing left to run, has this long to end by itself. */
export const stopMsMax = 5000;

export interface WorkerParts extends SupervisedLoadsParts {
  readonly workers: WorkerEvents;
  readonly roster: Pick<ModelRoster, 'add' | 'remove'>;
  /** In [0, 1): spreads restarts. */
  readonly random: () => number;
}

/** One position in a group: always the same models under the same id, a new worker whenever the last one is gone. */
export class WorkerSupervisor {
  readonly worker: WorkerId;
  readonly #slotGroup: SupervisedGroup;
  readonly #parts: WorkerParts;
  readonly #loads: SupervisedLoads;
  #record = cleanRestartRecord;
  #link: WorkerLink | undefined;
  #batchesAnswered = 0;
  #cancelRestart: (() => void) | undefined;
  readonly #onGone: (() => void)[] = [];
  #isStopping: boolean = false;

  constructor(slotGroup: SupervisedGroup, parts: WorkerParts, worker: WorkerId, position: number) {
    this.#slotGroup = slotGroup;
    this.#parts = parts;
    this.worker = worker;
    this.#loads = new SupervisedLoads(slotGroup, parts, worker, position);
  }

  /** It has loaded its models once, failed to, or died. */
  get hasSettled(): boolean {
    return this.#loads.hasSettled;
  }

  get pid(): number | undefined {
    return this.#link?.pid;
  }

  /** What the worker said it held after its last load; 0 before. */
  get residentBytes(): number {
    return this.#link === undefined ? 0 : this.#loads.residentBytes;
  }

  open(): void {
    const { lane, name } = this.#slotGroup.group;
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

  /** Another worker can load the model: what kept this one from it may pass. */
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
      // A worker that is being stopped may still finish a load; nothing is run there.
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

  #gone(lastWords: string): void {
    this.#link = undefined;
    const limitReason = this.#loads.end();
    const reason = limitReason === undefined ? lastWords : `${limitReason}, and was killed; ${lastWords}`;
    const { workers, listener } = this.#parts;
    workers.workerGone(this.worker);
    if (this.#isStopping) {
      listener.workerGone(this.#slotGroup.group.name, this.worker, reason, undefined);
      for (const resolve of this.#onGone.splice(0)) resolve();
      return;
    }
    const deathsInLoop = this.#restartLater(reason);
    // Reported at once: a crash loop of such long lives would be found out too late.
    if (limitReason !== undefined) this.#loads.reportUnloaded(reason);
    if (deathsInLoop !== undefined) {
      const summary = `its worker died ${deathsInLoop} times in a row without an answer, last: ${reason}`;
      for (const { model } of this.#slotGroup.group.models) {
        this.#slotGroup.modelUnservable(model, this.worker, summary);
      }
    }
    this.#loads.noteSettled();
  }

  /** Starts another worker after a pause. Returns how many died in a row where that is a crash loop. */
  #restartLater(reason: string): number | undefined {
    const { clock, listener, random } = this.#parts;
    const { settledAt } = this.#loads;
    const aliveMs = settledAt === undefined ? 0 : clock.now() - settledAt;
    const life = { aliveMs, batchesAnswered: this.#batchesAnswered };
    const { record, pauseMs, isCrashLoop } = restartAfter(this.#record, life, random());
    this.#record = record;
    listener.workerGone(this.#slotGroup.group.name, this.worker, reason, pauseMs);
    this.#cancelRestart = clock.after(pauseMs, () => this.open());
    return isCrashLoop ? record.deaths : undefined;
  }
}
