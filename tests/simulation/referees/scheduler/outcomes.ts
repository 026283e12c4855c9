/** The rules: the required actions after an event, according to the ledger. Dispatching is judged by the referee. */
import type { ModelKey, ModelPolicy, RequestId, SchedulerEvent, WorkerId } from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';
import {
  type Ledger,
  type LedgerBatch,
  type LedgerModel,
  type LedgerRequest,
  levelIn,
  levelOf,
  queuePolicyIn,
  waitingBytesOf,
} from './ledger.ts';

type WorkerGone = Extract<SchedulerEvent, { kind: 'worker-gone' }>;

/** The actions required after an event. The scheduler must take all of them and no others. */
export interface Owed {
  readonly refusals: Map<RequestId, ErrorCode>;
  /** In the order in which they must leave, where their model asks for one. */
  readonly deliveries: Map<RequestId, LedgerBatch>;
  readonly cancels: Set<LedgerBatch>;
  readonly kills: Set<WorkerId>;
  /** Models that are not known, so that nothing of them can wait or run. */
  readonly idle: Set<ModelKey>;
}

export function nothingOwed(): Owed {
  return { refusals: new Map(), deliveries: new Map(), cancels: new Set(), kills: new Set(), idle: new Set() };
}

/** Why a request that arrives now is refused; undefined when it has to be let in. */
export function admissionCode(
  ledger: Ledger,
  event: Extract<SchedulerEvent, { kind: 'request-arrived' }>,
  nowMs: number,
): ErrorCode | undefined {
  const { model: key, rows, bytes, deadlineAt, priority, caller } = event.request;
  const { limits } = ledger;
  if (ledger.isDraining) return 'draining';
  const model = ledger.models.get(key);
  if (model === undefined) return 'model-not-ready';
  if (model.isRemoved || model.isRetired) return 'model-not-ready';
  if (rows > model.policy.rowsMax) return 'request-too-large';
  if (bytes > model.policy.queueBytesMax || bytes > limits.waitingBytesMax) return 'request-too-large';
  if (deadlineAt <= nowMs) return 'deadline-exceeded';
  if (model.waiting.length >= model.policy.queueRequestsMax) return 'model-full';
  const level = levelIn(model.policy, priority);
  const levelCount = model.waiting.filter((request) => levelOf(request) === level).length;
  if (levelCount >= queuePolicyIn(model.policy, priority).requestsMax) return 'model-full';
  if (waitingBytesOf(model) + bytes > model.policy.queueBytesMax) return 'model-full';
  if (caller !== '' && ledger.waitingOf(caller) >= limits.callerRequestsMax) return 'caller-full';
  if (ledger.waitingCount() >= limits.waitingRequestsMax) return 'server-full';
  if (ledger.waitingBytes() + bytes > limits.waitingBytesMax) return 'server-full';
  return undefined;
}

/** Takes note of an event other than an arrival, and says what is owed for it. */
export function settleEvent(ledger: Ledger, event: SchedulerEvent, nowMs: number): Owed {
  const owed = nothingOwed();
  switch (event.kind) {
    case 'batch-answered': {
      const batch = ledger.batches.get(event.batch);
      if (batch === undefined) break;
      batch.model.longestMs = Math.max(batch.model.longestMs, nowMs - batch.dispatchedAt);
      for (const request of ledger.live(batch)) {
        request.batch = undefined;
        request.answeredIn = batch;
        if (!batch.model.ordered.includes(request)) deliver(ledger, owed, request, batch);
      }
      deliverInOrder(ledger, owed, batch.model);
      ledger.endBatch(batch, nowMs);
      break;
    }
    case 'batch-failed':
      batchFailed(ledger, owed, event, nowMs);
      break;
    case 'batch-progressed': {
      const batch = ledger.batches.get(event.batch);
      if (batch === undefined) break;
      batch.hasProgressed = true;
      if (batch.startedAt !== undefined && batch.hasCredit) batch.runLimitAt = nowMs + batch.model.policy.runMsMax;
      break;
    }
    case 'batch-credit': {
      const batch = ledger.batches.get(event.batch);
      if (batch === undefined) break;
      batch.hasCredit = event.hasCredit;
      const limitAt = event.hasCredit ? nowMs + batch.model.policy.runMsMax : Number.POSITIVE_INFINITY;
      if (batch.startedAt !== undefined) batch.runLimitAt = limitAt;
      break;
    }
    case 'request-cancelled': {
      const request = ledger.requests.get(event.request);
      if (request !== undefined) abandon(ledger, owed, request, event.reason);
      break;
    }
    case 'tick':
      expire(ledger, owed, nowMs);
      break;
    case 'worker-gone':
      workerGone(ledger, owed, event);
      break;
    case 'worker-credit':
      ledger.workerOf(event.worker).batchesMax = event.batchesMax;
      break;
    case 'worker-serves': {
      const worker = ledger.workerOf(event.worker);
      const model = ledger.models.get(event.model);
      if (model === undefined || model.isRemoved) break;
      worker.models.add(model);
      if (event.priorityMax === Number.POSITIVE_INFINITY) worker.reserved.delete(model);
      else worker.reserved.set(model, event.priorityMax);
      break;
    }
    case 'worker-unserves': {
      const model = ledger.models.get(event.model);
      if (model !== undefined) ledger.workers.get(event.worker)?.models.delete(model);
      break;
    }
    case 'model-added': {
      const known = ledger.models.get(event.model);
      if (known !== undefined && !known.isRemoved) {
        known.policy = event.policy;
        known.isRetired = false;
        ledger.retired = ledger.retired.filter((model) => model !== known);
      } else {
        ledger.models.set(event.model, newModel(event.model, event.policy));
      }
      break;
    }
    case 'model-retired': {
      const model = ledger.models.get(event.model);
      if (model === undefined) owed.idle.add(event.model);
      if (model === undefined || model.isRetired) break;
      model.isRetired = true;
      ledger.retired.push(model);
      break;
    }
    case 'model-removed':
      modelRemoved(ledger, owed, event.model);
      break;
    case 'drain-started':
      ledger.isDraining = true;
      break;
    case 'breaker-closed': {
      const worker = ledger.workers.get(event.worker);
      for (const model of worker?.models ?? []) ledger.failures.delete(`${event.worker} ${model.key}`);
      break;
    }
    case 'request-arrived':
      throw new Error('arrivals are judged by the referee');
  }
  return owed;
}

/** What is owed because of the time alone. */
export function expire(ledger: Ledger, owed: Owed, nowMs: number): void {
  const dueAt = (request: LedgerRequest): number => Math.min(request.arrived.deadlineAt, request.queueTimeoutAt);
  const due = [...ledger.requests.values()].filter((request) => dueAt(request) <= nowMs);
  due.sort((left, right) => dueAt(left) - dueAt(right) || left.arrival - right.arrival);
  for (const request of due) {
    // The refusal of an earlier one may have let its answer leave.
    if (!ledger.requests.has(request.arrived.request)) continue;
    if (request.arrived.deadlineAt <= nowMs) abandon(ledger, owed, request, 'deadline-exceeded');
    else if (request.queueTimeoutAt <= nowMs) waitedTooLong(ledger, owed, request);
  }
  for (const worker of ledger.workers.values()) {
    const overdue = worker.outstanding.filter(({ runLimitAt }) => runLimitAt <= nowMs);
    if (worker.isCondemned || overdue.length === 0) continue;
    owed.kills.add(worker.id);
    for (const model of worker.models) ledger.noteFailure(worker, model);
    for (const batch of overdue) batch.isOverdue = true;
    worker.isCondemned = true;
  }
}

function newModel(key: string, policy: ModelPolicy): LedgerModel {
  return { key, policy, isRemoved: false, isRetired: false, waiting: [], ordered: [], longestMs: 0 };
}

function waitedTooLong(ledger: Ledger, owed: Owed, request: LedgerRequest): void {
  request.queueTimeoutAt = Number.POSITIVE_INFINITY;
  if (queuePolicyIn(request.model.policy, request.arrived.priority).timeoutAction === 'delay') request.isDelayed = true;
  else abandon(ledger, owed, request, 'queue-timeout');
}

function deliver(ledger: Ledger, owed: Owed, request: LedgerRequest, batch: LedgerBatch): void {
  owed.deliveries.set(request.arrived.request, batch);
  ledger.settle(request);
}

/** Answers leave up to the first request that has none. */
function deliverInOrder(ledger: Ledger, owed: Owed, model: LedgerModel): void {
  for (let [first] = model.ordered; first?.answeredIn !== undefined; [first] = model.ordered) {
    deliver(ledger, owed, first, first.answeredIn);
  }
}

function abandon(ledger: Ledger, owed: Owed, request: LedgerRequest, code: ErrorCode): void {
  const { batch } = request;
  ledger.settle(request);
  owed.refusals.set(request.arrived.request, code);
  if (batch !== undefined && ledger.live(batch).length === 0) owed.cancels.add(batch);
  deliverInOrder(ledger, owed, request.model);
}

function batchFailed(
  ledger: Ledger,
  owed: Owed,
  event: Extract<SchedulerEvent, { kind: 'batch-failed' }>,
  nowMs: number,
): void {
  const batch = ledger.batches.get(event.batch);
  if (batch === undefined) return;
  const live = ledger.live(batch);
  ledger.endBatch(batch, nowMs);
  if (event.code === 'unknown-model') batch.worker.models.delete(batch.model);
  else if (event.code !== 'cancelled') ledger.noteFailure(batch.worker, batch.model);
  for (const request of live) {
    if (batch.hasProgressed) retry(ledger, owed, request, event.code);
    else if (event.code === 'unknown-model' || event.code === 'cancelled') {
      requeue(ledger, owed, request);
    } else {
      request.isAlone = true;
      retry(ledger, owed, request, batch.requests.length === 1 ? event.code : undefined);
    }
  }
}

function workerGone(ledger: Ledger, owed: Owed, { worker: id, isKilled }: WorkerGone): void {
  const worker = ledger.workers.get(id);
  if (worker === undefined) return;
  ledger.workers.delete(id);
  if (!worker.isCondemned) for (const model of worker.models) ledger.noteFailure(worker, model);
  for (const batch of worker.outstanding) {
    const live = ledger.live(batch);
    ledger.forget(batch);
    for (const request of live) settleLost(ledger, owed, request, batch, isKilled);
  }
}

/**
 * What a worker's death means for a request. Who ran too long alone did so by itself; who ran too long beside others, or
 * ran when the worker died by itself, may have been the cause; who did neither was not.
 */
function settleLost(ledger: Ledger, owed: Owed, request: LedgerRequest, batch: LedgerBatch, isKilled: boolean): void {
  const { isCondemned } = batch.worker;
  if (batch.isOverdue && !batch.hadCompany) {
    retry(ledger, owed, request, 'run-time-limit');
  } else if (batch.hasProgressed) {
    retry(ledger, owed, request, 'worker-lost');
  } else if (batch.isOverdue || (!isCondemned && batch.startedAt !== undefined)) {
    request.deaths += 1;
    if (!isKilled) request.crashes += 1;
    request.isAlone = true;
    const { deathsMax, killsMax } = ledger.limits.retry;
    const wasAlone = batch.requests.length === 1 && !batch.hadCompany;
    const isPoison = wasAlone && (request.crashes >= deathsMax || request.deaths >= killsMax);
    retry(ledger, owed, request, isPoison ? 'poison-request' : undefined);
  } else {
    requeue(ledger, owed, request);
  }
}

function modelRemoved(ledger: Ledger, owed: Owed, key: string): void {
  const model = ledger.models.get(key);
  if (model === undefined) return;
  model.isRemoved = true;
  for (const worker of ledger.workers.values()) worker.models.delete(model);
  for (const request of [...model.waiting]) abandon(ledger, owed, request, 'model-not-ready');
  ledger.forgetIfOver(model);
}

function requeue(ledger: Ledger, owed: Owed, request: LedgerRequest): void {
  request.requeues += 1;
  retry(ledger, owed, request, request.requeues > ledger.limits.retry.requeuesMax ? 'worker-lost' : undefined);
}

function retry(ledger: Ledger, owed: Owed, request: LedgerRequest, code: ErrorCode | undefined): void {
  const verdict = code ?? (request.model.isRemoved ? 'model-not-ready' : undefined);
  if (verdict === undefined) {
    ledger.wait(request);
  } else {
    ledger.settle(request);
    owed.refusals.set(request.arrived.request, verdict);
    deliverInOrder(ledger, owed, request.model);
  }
}
