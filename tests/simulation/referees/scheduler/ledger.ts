/**
 * The events and decisions of the router so far, in the simplest form: arrays that are searched, no count that could be
 * derived. The referee judges the scheduler against it, so nothing here is shared with the scheduler.
 */
import type { ArrivedRequest, BatchId, ModelKey, ModelPolicy, QueuePolicy, RequestId, WorkerId } from '@millrace/core';
import type { WorldLimits } from '../../world/weather.ts';

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
  /** Deaths of workers that no signal from outside ended. */
  crashes: number;
  requeues: number;
}

export interface LedgerBatch {
  readonly id: BatchId;
  readonly worker: LedgerWorker;
  readonly model: LedgerModel;
  readonly requests: readonly LedgerRequest[];
  readonly dispatchedAt: number;
  /** It runs from its dispatch on, beside whatever else its worker holds. */
  readonly isConcurrent: boolean;
  /** Undefined while another batch is ahead of it. */
  startedAt: number | undefined;
  /** When it has run too long, once it runs. */
  runLimitAt: number;
  /** Another ran on the same worker, for a part of its time at least. */
  hadCompany: boolean;
  /** Its worker was to be killed for it. */
  isOverdue: boolean;
  /** A part of its answer was handed out, so that it cannot be run again. */
  hasProgressed: boolean;
  /** Its caller takes another part of the answer now. */
  hasCredit: boolean;
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
  isCondemned: boolean;
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
    let count = 0;
    for (const { waiting } of this.models.values()) {
      for (const { arrived } of waiting) if (arrived.caller === caller) count += 1;
    }
    return count;
  }

  waitingCount(): number {
    return [...this.models.values()].reduce((sum, model) => sum + model.waiting.length, 0);
  }

  waitingBytes(): number {
    return [...this.models.values()].reduce((sum, model) => sum + waitingBytesOf(model), 0);
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
        isCondemned: false,
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
    worker.outstanding.splice(worker.outstanding.indexOf(batch), 1);
    const [next] = worker.outstanding;
    if (next !== undefined && next.startedAt === undefined) start(next, nowMs);
    this.forget(batch);
  }

  forget(batch: LedgerBatch): void {
    this.batches.delete(batch.id);
    this.forgetIfOver(batch.model);
  }

  /** A removed model is kept while batches of it are in flight. */
  forgetIfOver(model: LedgerModel): void {
    const isOut = [...this.batches.values()].some((batch) => batch.model === model);
    if (model.isRemoved && !isOut && this.models.get(model.key) === model) this.models.delete(model.key);
  }

  /** A worker was given a batch, and runs it at once or in its turn. */
  beginBatch(batch: LedgerBatch, nowMs: number): void {
    const { worker } = batch;
    this.batches.set(batch.id, batch);
    worker.outstanding.push(batch);
    if (batch.isConcurrent || worker.outstanding.length === 1) start(batch, nowMs);
    const running = worker.outstanding.filter(({ startedAt }) => startedAt !== undefined);
    if (running.length > 1) for (const one of running) one.hadCompany = true;
  }

  /** Nothing of it waits or runs. */
  isIdle(model: LedgerModel): boolean {
    return model.waiting.length === 0 && ![...this.batches.values()].some((batch) => batch.model === model);
  }

  /** Of all that goes by the key: a model that was removed and added anew is there twice while batches of the old one run. */
  isKeyIdle(key: string): boolean {
    const known = this.models.get(key);
    const all = [...this.retired.filter((model) => model.key === key), ...(known === undefined ? [] : [known])];
    return all.every((model) => this.isIdle(model));
  }

  /** A worker that runs a suspect has no room, so that its death can be attributed to the suspect. */
  hasRoom(worker: LedgerWorker): boolean {
    const hasSuspect = worker.outstanding.some((batch) => batch.isConcurrent && batch.requests.some(isSuspect));
    return !worker.isCondemned && !hasSuspect && worker.outstanding.length < worker.batchesMax;
  }

  /** Whether a suspect may lead the next batch of the model; it needs a worker that runs nothing else. */
  isSuspectNext(model: LedgerModel): boolean {
    const level = this.urgentLevel(model);
    return model.policy.isConcurrent && model.waiting.some((one) => isSuspect(one) && levelOf(one) === level);
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

function start(batch: LedgerBatch, nowMs: number): void {
  batch.startedAt = nowMs;
  if (batch.hasCredit) batch.runLimitAt = nowMs + batch.model.policy.runMsMax;
}

/** It ran on a worker that died. */
export function isSuspect(request: LedgerRequest): boolean {
  return request.deaths > 0;
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

export function requestRowsOf(requests: readonly LedgerRequest[]): number {
  return requests.reduce((sum, request) => sum + request.arrived.rows, 0);
}

export function waitingBytesOf(model: LedgerModel): number {
  return model.waiting.reduce((sum, request) => sum + request.arrived.bytes, 0);
}
