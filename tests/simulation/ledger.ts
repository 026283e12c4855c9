/**
 * What the router has been told and has decided so far, kept in the plainest way: arrays that are searched, no count
 * that could be derived. The referee judges the scheduler against it, so nothing here is shared with the scheduler.
 */
import type { ArrivedRequest, BatchId, ModelKey, ModelPolicy, QueuePolicy, RequestId, WorkerId } from '@millrace/core';
import type { WorldLimits } from './weather.ts';

export interface LedgerRequest {
  readonly arrived: ArrivedRequest;
  readonly model: LedgerModel;
  readonly arrival: number;
  readonly arrivedAt: number;
  /** When it has waited as long as it may; Infinity once that is no matter any more. */
  queueTimeoutAt: number;
  isDelayed: boolean;
  batch: LedgerBatch | undefined;
  /** The batch that answered it, while the answer waits for those of earlier requests. */
  answeredIn: LedgerBatch | undefined;
  isAlone: boolean;
  deaths: number;
  requeues: number;
}

export interface LedgerBatch {
  readonly id: BatchId;
  readonly worker: LedgerWorker;
  readonly model: LedgerModel;
  readonly requests: readonly LedgerRequest[];
  readonly dispatchedAt: number;
}

export interface LedgerModel {
  readonly key: ModelKey;
  policy: ModelPolicy;
  isRemoved: boolean;
  isRetired: boolean;
  /** In order of arrival. */
  waiting: LedgerRequest[];
  /** Those without an answer that came while answers had to leave in order, in that order. */
  ordered: LedgerRequest[];
  /** From dispatch to answer, of all batches so far; 0 before the first. */
  longestMs: number;
}

export interface LedgerWorker {
  readonly id: WorkerId;
  readonly models: Set<LedgerModel>;
  /** The least urgent level that it takes, of models for which it takes not all. */
  readonly reserved: Map<LedgerModel, number>;
  readonly outstanding: LedgerBatch[];
  batchesMax: number;
  runLimitAt: number;
  /** When the running batch began. */
  runningSince: number;
  isCondemned: boolean;
  overdue: LedgerBatch | undefined;
}

export class Ledger {
  readonly limits: WorldLimits;
  readonly models = new Map<ModelKey, LedgerModel>();
  readonly workers = new Map<WorkerId, LedgerWorker>();
  readonly requests = new Map<RequestId, LedgerRequest>();
  readonly batches = new Map<BatchId, LedgerBatch>();
  /** Retired models of which something waits or runs, or of which it was not yet said that nothing does. */
  retired: LedgerModel[] = [];
  /** By worker and model: what could have made the worker distrusted. */
  readonly failures = new Map<string, number>();
  arrivalCount = 0;
  isDraining: boolean = false;
  isDrained: boolean = false;

  constructor(limits: WorldLimits) {
    this.limits = limits;
  }

  noteFailure(worker: LedgerWorker, model: LedgerModel): void {
    const key = `${worker.id} ${model.key}`;
    this.failures.set(key, (this.failures.get(key) ?? 0) + 1);
  }

  waitingOf(caller: string): number {
    const waiting = [...this.models.values()].flatMap((model) => model.waiting);
    return waiting.filter(({ arrived }) => arrived.caller === caller).length;
  }

  waitingCount(): number {
    return [...this.models.values()].reduce((sum, model) => sum + model.waiting.length, 0);
  }

  waitingBytes(): number {
    return [...this.models.values()].reduce((sum, model) => sum + bytesOf(model), 0);
  }

  workerOf(id: WorkerId): LedgerWorker {
    let worker = this.workers.get(id);
    if (worker === undefined) {
      worker = {
        id,
        models: new Set(),
        reserved: new Map(),
        outstanding: [],
        batchesMax: 0,
        runLimitAt: Number.POSITIVE_INFINITY,
        runningSince: 0,
        isCondemned: false,
        overdue: undefined,
      };
      this.workers.set(id, worker);
    }
    return worker;
  }

  live(batch: LedgerBatch): LedgerRequest[] {
    return batch.requests.filter((request) => request.batch === batch);
  }

  wait(request: LedgerRequest): void {
    request.batch = undefined;
    request.model.waiting.push(request);
    request.model.waiting.sort((left, right) => left.arrival - right.arrival);
  }

  settle(request: LedgerRequest): void {
    request.batch = undefined;
    request.answeredIn = undefined;
    const { model } = request;
    model.waiting = model.waiting.filter((other) => other !== request);
    model.ordered = model.ordered.filter((other) => other !== request);
    this.requests.delete(request.arrived.request);
  }

  /** A batch was answered or failed; what its worker holds next begins to run. */
  endBatch(batch: LedgerBatch, nowMs: number): void {
    const { worker } = batch;
    const wasRunning = worker.outstanding[0] === batch;
    worker.outstanding.splice(worker.outstanding.indexOf(batch), 1);
    if (worker.overdue === batch) worker.overdue = undefined;
    if (wasRunning) this.startRunClock(worker, nowMs);
    this.forget(batch);
  }

  forget(batch: LedgerBatch): void {
    this.batches.delete(batch.id);
    this.forgetIfOver(batch.model);
  }

  /** A removed model is remembered for as long as batches of it are out. */
  forgetIfOver(model: LedgerModel): void {
    const isOut = [...this.batches.values()].some((batch) => batch.model === model);
    if (model.isRemoved && !isOut && this.models.get(model.key) === model) this.models.delete(model.key);
  }

  startRunClock(worker: LedgerWorker, nowMs: number): void {
    const running = worker.outstanding[0];
    const isTimed = running !== undefined && !worker.isCondemned;
    worker.runningSince = nowMs;
    worker.runLimitAt = isTimed ? nowMs + running.model.policy.runMsMax : Number.POSITIVE_INFINITY;
  }

  /** Nothing of it waits or runs. */
  isIdle(model: LedgerModel): boolean {
    return model.waiting.length === 0 && ![...this.batches.values()].some((batch) => batch.model === model);
  }

  hasRoom(worker: LedgerWorker): boolean {
    return !worker.isCondemned && worker.outstanding.length < worker.batchesMax;
  }

  /** Whether the worker serves the model to requests of this level. */
  takes(worker: LedgerWorker, model: LedgerModel, level: number): boolean {
    return worker.models.has(model) && level <= (worker.reserved.get(model) ?? Number.POSITIVE_INFINITY);
  }

  /** The level of whatever has to go first; 1 when nothing waits. */
  urgentLevel(model: LedgerModel): number {
    return model.waiting.length === 0 ? 1 : Math.min(...model.waiting.map(levelOf));
  }

  /** Workers that could take a request of this level now. */
  freeFor(model: LedgerModel, level = this.urgentLevel(model)): LedgerWorker[] {
    return [...this.workers.values()].filter((worker) => this.takes(worker, model, level) && this.hasRoom(worker));
  }
}

/** From 1, the most urgent. */
export function levelOf(request: LedgerRequest): number {
  return levelIn(request.model.policy, request.arrived.priority);
}

export function levelIn(policy: ModelPolicy, priority: number): number {
  return priority >= 1 && priority <= policy.queues.length ? priority : policy.priorityDefault;
}

export function queuePolicyIn(policy: ModelPolicy, priority: number): QueuePolicy {
  return policy.queues[levelIn(policy, priority) - 1] as QueuePolicy;
}

export function rowsOf(requests: readonly LedgerRequest[]): number {
  return requests.reduce((sum, request) => sum + request.arrived.rows, 0);
}

export function bytesOf(model: LedgerModel): number {
  return model.waiting.reduce((sum, request) => sum + request.arrived.bytes, 0);
}
