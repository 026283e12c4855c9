import type { ModelKey, WorkerId } from '../events.ts';
import { cleanRestartRecord, type RestartRecord } from '../restart-policy.ts';

/** waiting (for its restart) → starting → running → waiting again, or stopping: then it is not replaced. */
export type GroupWorkerPhase = 'waiting' | 'starting' | 'running' | 'stopping';

/** One model on one worker. */
export class ModelLoad {
  readonly model: ModelKey;
  /** `leaving`: it is unloaded as soon as its load has ended. */
  state: 'loading' | 'loaded' | 'failed' | 'leaving' = 'loading';
  /** Failed attempts in a row of this process. */
  failures = 0;
  /** When it is tried again; Infinity: not by itself. */
  retryAt = Number.POSITIVE_INFINITY;
  /** When its worker is killed unless the load has ended. */
  limitAt = Number.POSITIVE_INFINITY;

  constructor(model: ModelKey) {
    this.model = model;
  }
}

/** A worker of a group: the same id and position, with a new process whenever the last one has exited. */
export class GroupWorker {
  readonly worker: WorkerId;
  readonly position: number;
  phase: GroupWorkerPhase = 'starting';
  /** Of the current process, by model. */
  readonly loads = new Map<ModelKey, ModelLoad>();
  /** When it is restarted, while it is waiting. */
  restartAt = Number.POSITIVE_INFINITY;
  /** When it is killed unless a load has ended: the earliest limit of its loads. */
  loadLimitAt = Number.POSITIVE_INFINITY;
  /** When it is killed unless it has exited: it was told to stop. */
  stopLimitAt = Number.POSITIVE_INFINITY;
  /** Why its process was killed while it loaded; undefined: it was not. */
  limitReason: string | undefined = undefined;
  /** When the last of its first loads ended; undefined before. */
  loadedAt: number | undefined = undefined;
  /** Its first process has tried all its loads, or has exited. */
  hasSettled: boolean = false;
  record: RestartRecord = cleanRestartRecord;

  constructor(worker: WorkerId, position: number) {
    this.worker = worker;
    this.position = position;
  }

  get isLoading(): boolean {
    for (const { state } of this.loads.values()) if (state === 'loading' || state === 'leaving') return true;
    return false;
  }

  /** The earliest limit of the loads that have not ended. */
  get earliestLoadLimitAt(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const { state, limitAt } of this.loads.values()) {
      if (state === 'loading' || state === 'leaving') at = Math.min(at, limitAt);
    }
    return at;
  }

  /** It has tried to load the model, or has no process that could. */
  hasTried(model: ModelKey): boolean {
    if (this.phase !== 'running') return this.phase === 'waiting';
    const state = this.loads.get(model)?.state;
    return state === 'loaded' || state === 'failed';
  }

  serves(model: ModelKey): boolean {
    return this.phase === 'running' && this.loads.get(model)?.state === 'loaded';
  }

  /** The next time at which something is due for it. */
  get dueAt(): number {
    let at = Math.min(this.restartAt, this.loadLimitAt, this.stopLimitAt);
    if (this.phase === 'running') for (const { retryAt } of this.loads.values()) at = Math.min(at, retryAt);
    return at;
  }
}
