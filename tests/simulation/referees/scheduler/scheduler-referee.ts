/** Checks every action against the rules, and after each turn that nothing is left undone. */
import type {
  ArrivedRequest,
  InstanceSnapshot,
  ModelKey,
  SchedulerAction,
  SchedulerCounts,
  SchedulerEvent,
} from '@millrace/core';
import { formatAction } from '@millrace/core';
import { errorCatalogue } from '@millrace/protocol';
import { claim, TruthViolation } from '../../world/truth.ts';
import type { WorldLimits } from '../../world/weather.ts';
import { takeBatchFault } from './batch-rules.ts';
import { CallerFairness } from './caller-fairness.ts';
import { takeHeldUntil } from './holding.ts';
import {
  isSuspect,
  Ledger,
  type LedgerBatch,
  type LedgerModel,
  type LedgerRequest,
  type LedgerWorker,
  levelIn,
  levelOf,
  queuePolicyIn,
} from './ledger.ts';
import { ModelFairness } from './model-fairness.ts';
import { admissionCode, expire, nothingOwed, type Owed, settleEvent } from './outcomes.ts';
import { mayWaitTooLong, Trust } from './trust.ts';

type Dispatch = Extract<SchedulerAction, { kind: 'dispatch' }>;
type Arrival = Extract<SchedulerEvent, { kind: 'request-arrived' }>;

export class SchedulerReferee {
  readonly #ledger: Ledger;
  readonly #trust: Trust;
  readonly #instances: (nowMs: number) => readonly InstanceSnapshot[];
  readonly #seen = new Set<number>();
  #batchIdMax = 0;
  #wakeAt = Number.POSITIVE_INFINITY;
  readonly #callerFairness = new CallerFairness();
  readonly #modelFairness: ModelFairness;
  /** Requests whose answers leave in order of arrival. */
  readonly #ordered = new Set<number>();
  #mayHold: boolean = true;
  drainedCount = 0;

  /** `instances`: what the scheduler says of them. */
  constructor(limits: WorldLimits, instances: (nowMs: number) => readonly InstanceSnapshot[]) {
    this.#ledger = new Ledger(limits);
    this.#trust = new Trust(this.#ledger);
    this.#modelFairness = new ModelFairness(this.#ledger, this.#trust);
    this.#instances = instances;
  }

  afterEvent(event: SchedulerEvent, actions: readonly SchedulerAction[], nowMs: number): void {
    if (event.kind === 'request-arrived') {
      this.#judgeArrival(event, actions, nowMs);
      return;
    }
    if (event.kind === 'tick') this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#judgeEnd(event, nowMs);
    const owed = settleEvent(this.#ledger, event, nowMs);
    this.#review(event);
    for (const action of actions) {
      claim(action.kind !== 'dispatch', `an event other than a pump dispatched: ${formatAction(action)}`);
      this.#judge(action, owed, nowMs);
      if (event.kind === 'batch-failed' && action.kind === 'refuse' && action.code === event.code) {
        claim(action.message === event.message, 'the caller is told what the model said');
      }
    }
    claimNothingOwed(owed);
  }

  afterPump(actions: readonly SchedulerAction[], nowMs: number): void {
    const owed = nothingOwed();
    expire(this.#ledger, owed, nowMs);
    this.#hearOfInstances(nowMs);
    if (this.#wakeAt <= nowMs) this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#review();
    for (const action of actions) this.#judge(action, owed, nowMs);
    claimNothingOwed(owed);
    this.#claimWorkConserved(nowMs, true);
    this.#claimWoken(nowMs);
    const idle = this.#ledger.retired.find(({ key }) => this.#ledger.isKeyIdle(key));
    claim(idle === undefined, `${idle?.key} is idle but nobody was told`);
    const isEmpty = this.#ledger.requests.size === 0 && this.#ledger.batches.size === 0;
    claim(!(this.#ledger.isDraining && isEmpty) || this.#ledger.isDrained, 'a drain is over but nobody was told');
  }

  /** Whether nothing of a model waits or runs. */
  isIdle(key: ModelKey): boolean {
    const model = this.#ledger.models.get(key);
    return model === undefined || this.#ledger.isIdle(model);
  }

  /** A worker that serves the model; undefined: none does. */
  takeServer(key: ModelKey, isForAll: boolean): number | undefined {
    const model = this.#ledger.models.get(key);
    if (model === undefined) return undefined;
    const servers = [...this.#ledger.workers.values()].filter(({ models }) => models.has(model));
    return servers.find(({ reserved }) => !isForAll || !reserved.has(model))?.id;
  }

  atEnd(counts: SchedulerCounts): void {
    const left = [...this.#ledger.requests.keys()];
    claim(left.length === 0, `requests without an answer at the end: ${left.join(' ')}`);
    claim(this.#ledger.batches.size === 0, 'batches are in flight at the end');
    claim(this.drainedCount === 1, `drained was said ${this.drainedCount} times`);
    const { waitingRequests, waitingBytes, runningRequests, outstandingBatches } = counts;
    const sum = waitingRequests + waitingBytes + runningRequests + outstandingBatches;
    claim(sum === 0, `the scheduler still counts something: ${JSON.stringify(counts)}`);
    claim(counts.models === this.#ledger.models.size, 'the scheduler remembers models that are gone');
    claim(counts.workers === this.#ledger.workers.size, 'the scheduler remembers workers that are gone');
  }

  #judgeArrival(event: Arrival, actions: readonly SchedulerAction[], nowMs: number): void {
    const { request: id, model: key } = event.request;
    claim(!this.#seen.has(id), 'the simulator uses a request id once');
    this.#seen.add(id);
    const early = admissionCode(this.#ledger, event, nowMs);
    const owed = nothingOwed();
    const others = actions.filter((action) => action.kind !== 'refuse' || action.request !== id);
    const isTooLong = actions.some(
      (action) => action.kind === 'refuse' && action.request === id && action.code === 'wait-too-long',
    );
    const isAboutRoom = early === 'model-full' || early === 'server-full' || early === 'caller-full';
    // Of one that only might have waited too long nothing need have come.
    const isAboutTime = isTooLong || (early === undefined && others.length > 0 && this.#mayWaitTooLong(event, nowMs));
    if (isAboutRoom || isAboutTime) {
      expire(this.#ledger, owed, nowMs);
      this.#review();
      this.#mayHold = false;
      this.#hearOfInstances(nowMs);
      for (const action of others) this.#judge(action, owed, nowMs);
      this.#claimWorkConserved(nowMs, false);
      this.#mayHold = true;
    } else {
      claim(others.length === 0, 'an arrival had consequences for others although it was not about room');
    }

    if (isTooLong) this.#judgeLongWait(event, nowMs);
    const code = admissionCode(this.#ledger, event, nowMs) ?? (isTooLong ? 'wait-too-long' : undefined);
    if (code !== undefined) owed.refusals.set(id, code);
    for (const action of actions) if (!others.includes(action)) this.#judge(action, owed, nowMs);
    claimNothingOwed(owed);
    if (code !== undefined) return;

    const model = this.#ledger.models.get(key);
    claim(model !== undefined, 'only a known model lets requests in');
    this.#ledger.arrivalCount += 1;
    const request: LedgerRequest = {
      arrived: event.request,
      model,
      arrival: this.#ledger.arrivalCount,
      arrivedAt: nowMs,
      queueTimeoutAt: nowMs + queueTimeoutMs(event.request, model),
      isDelayed: false,
      batch: undefined,
      answeredIn: undefined,
      isAlone: event.request.isAlone,
      deaths: 0,
      crashes: 0,
      requeues: 0,
    };
    this.#ledger.requests.set(id, request);
    this.#ledger.wait(request);
    if (!model.policy.isOrdered) return;
    model.ordered.push(request);
    this.#ordered.add(id);
  }

  #judgeEnd(event: SchedulerEvent, nowMs: number): void {
    if (event.kind === 'worker-gone') {
      const worker = this.#ledger.workers.get(event.worker);
      for (const { startedAt = nowMs } of worker?.outstanding ?? []) this.#modelFairness.noteRun(nowMs - startedAt);
    }
    if (event.kind !== 'batch-answered' && event.kind !== 'batch-failed') return;
    const batch = this.#ledger.batches.get(event.batch);
    if (batch === undefined) return;
    const fault = this.#modelFairness.takeFault(batch, nowMs - (batch.startedAt ?? nowMs));
    claim(fault === undefined, fault ?? '');
  }

  /** What waits may have changed. */
  #review(event?: SchedulerEvent): void {
    const isChange = event?.kind === 'model-added' || event?.kind === 'model-removed';
    for (const model of this.#ledger.models.values()) {
      if (isChange && event.model === model.key) this.#callerFairness.forget(model);
      else this.#callerFairness.review(model);
    }
    this.#modelFairness.review(isChange ? event.model : undefined);
  }

  #judge(action: SchedulerAction, owed: Owed, nowMs: number): void {
    const said = formatAction(action);
    switch (action.kind) {
      case 'dispatch':
        this.#judgeDispatch(action, nowMs);
        break;
      case 'deliver':
        claim(action.requests.length > 0, `nobody is delivered to: ${said}`);
        for (const request of action.requests) {
          const next = [...owed.deliveries.keys()].find((id) => this.#ordered.has(id));
          claim(next === request || !this.#ordered.has(request), `request ${next} comes before: ${said}`);
          claim(owed.deliveries.get(request)?.id === action.batch, `request ${request} has no part in: ${said}`);
          owed.deliveries.delete(request);
        }
        break;
      case 'refuse': {
        const code = owed.refusals.get(action.request);
        claim(code === action.code, `expected ${code ?? 'no refusal'}, but: ${said}`);
        claim(action.code in errorCatalogue && action.message !== '', `not an error of the catalogue: ${said}`);
        owed.refusals.delete(action.request);
        const { retryAfterMs = 10 } = action;
        claim(retryAfterMs >= 10 && retryAfterMs <= 60_000, `not a valid retry time: ${said}`);
        break;
      }
      case 'cancel-batch': {
        const batch = [...owed.cancels].find((cancelled) => cancelled.id === action.batch);
        claim(
          batch !== undefined && batch.worker.id === action.worker,
          `a caller still waits, or the batch is already cancelled: ${said}`,
        );
        owed.cancels.delete(batch);
        break;
      }
      case 'kill-worker':
        claim(owed.kills.delete(action.worker), `nothing ran too long: ${said}`);
        break;
      case 'wake-at':
        claim(action.at > nowMs && action.at < this.#wakeAt, `asked for without need: ${said}`);
        this.#wakeAt = action.at;
        break;
      case 'model-idle': {
        if (owed.idle.delete(action.model)) break;
        const isKnown = this.#ledger.retired.some(({ key }) => key === action.model);
        const isIdle = isKnown && this.#ledger.isKeyIdle(action.model);
        claim(isIdle, `something of it waits or runs, or it was said before: ${said}`);
        this.#ledger.retired = this.#ledger.retired.filter(({ key }) => key !== action.model);
        break;
      }
      case 'drained':
        claim(this.#ledger.isDraining, 'drained without a drain');
        claim(this.#ledger.requests.size === 0 && this.#ledger.batches.size === 0, 'drained while something is left');
        this.#ledger.isDrained = true;
        this.drainedCount += 1;
        break;
    }
  }

  #judgeDispatch(action: Dispatch, nowMs: number): void {
    const said = formatAction(action);
    const worker = this.#ledger.workers.get(action.worker);
    const model = this.#ledger.models.get(action.model);
    claim(worker !== undefined, `to a worker that is gone: ${said}`);
    claim(model !== undefined && worker.models.has(model), `to a worker that does not serve the model: ${said}`);
    claim(this.#ledger.hasRoom(worker), `to a worker without credit: ${said}`);
    const free = this.#trust.freeFor(model);
    claim(free.includes(worker), `to a worker that is not trusted, while another is: ${said}`);
    const isAnyIdle = free.some(({ outstanding }) => outstanding.length === 0);
    claim(!isAnyIdle || worker.outstanding.length === 0, `another worker is idle: ${said}`);
    claim(action.batch > this.#batchIdMax, `batch ids rise: ${said}`);
    this.#batchIdMax = action.batch;

    const requests = action.requests.flatMap((id) => this.#ledger.requests.get(id) ?? []);
    claim(requests.length === action.requests.length, `a request of it has its answer: ${said}`);
    const priorityMax = worker.reserved.get(model) ?? Number.POSITIVE_INFINITY;
    // What is kept for urgent requests holds nothing back, and sees nothing else.
    const isForAll = priorityMax >= model.policy.queues.length;
    const heldUntil = this.#mayHold && isForAll ? takeHeldUntil(this.#ledger, model, nowMs) : undefined;
    const seen = { ...model, waiting: model.waiting.filter((request) => levelOf(request) <= priorityMax) };
    claim(heldUntil === undefined, `it was to be held back until ${heldUntil}: ${said}`);
    const fault =
      takeBatchFault(this.#ledger, isForAll ? model : seen, requests, nowMs) ??
      this.#callerFairness.takeFault(model, requests);
    claim(fault === undefined, `${fault}: ${said}`);

    const { isConcurrent } = model.policy;
    const isAlone = worker.outstanding.length === 0;
    claim(isAlone || !isConcurrent || !requests.some(isSuspect), `a suspect shares its worker: ${said}`);
    const batch: LedgerBatch = {
      id: action.batch,
      worker,
      model,
      requests,
      dispatchedAt: nowMs,
      isConcurrent,
      startedAt: undefined,
      runLimitAt: Number.POSITIVE_INFINITY,
      hadCompany: false,
      isOverdue: false,
      hasProgressed: false,
      hasCredit: true,
    };
    for (const request of requests) {
      request.batch = batch;
      request.queueTimeoutAt = Number.POSITIVE_INFINITY;
    }
    model.waiting = model.waiting.filter((request) => request.batch === undefined);
    this.#ledger.beginBatch(batch, nowMs);
    this.#modelFairness.noteDispatch(batch);
    this.#review();
  }

  /** No worker with room idles while something waits for it, unless its model asked for a delay that has not run out. */
  #claimWorkConserved(nowMs: number, mayHold: boolean): void {
    for (const model of this.#ledger.models.values()) {
      if (mayHold && takeHeldUntil(this.#ledger, model, nowMs) !== undefined) continue;
      const free = model.waiting.length === 0 ? undefined : this.#mustWorkFor(model);
      claim(free === undefined, `worker ${free?.id} is free while ${model.waiting.length} wait for ${model.key}`);
    }
  }

  #mustWorkFor(model: LedgerModel): LedgerWorker | undefined {
    return this.#trust.freeFor(model).find((worker) => this.#trust.mustWork(worker, model));
  }

  #hearOfInstances(nowMs: number): void {
    const problem = this.#trust.hear(this.#instances(nowMs));
    claim(problem === undefined, problem ?? '');
  }

  #mayWaitTooLong({ request }: Arrival, nowMs: number): boolean {
    const model = this.#ledger.models.get(request.model);
    return model !== undefined && mayWaitTooLong(this.#ledger, model, request.deadlineAt, nowMs);
  }

  #judgeLongWait(event: Arrival, nowMs: number): void {
    const model = this.#ledger.models.get(event.request.model);
    claim(model !== undefined, 'too long a wait for a model that is not there');
    const free = this.#ledger.freeFor(model, levelIn(model.policy, event.request.priority));
    claim(free.length === 0, 'too long a wait, though a worker is free');
    claim(this.#mayWaitTooLong(event, nowMs), 'too long a wait, though even the slowest runs would be over in time');
  }

  #claimWoken(nowMs: number): void {
    for (const { arrived, queueTimeoutAt } of this.#ledger.requests.values()) {
      claim(this.#wakeAt <= arrived.deadlineAt, `nobody will wake for the deadline of request ${arrived.request}`);
      claim(this.#wakeAt <= queueTimeoutAt, `nobody will wake for the queue timeout of request ${arrived.request}`);
    }
    for (const model of this.#ledger.models.values()) {
      const isFree = this.#mustWorkFor(model) !== undefined;
      const heldUntil = isFree ? takeHeldUntil(this.#ledger, model, nowMs) : undefined;
      claim(this.#wakeAt <= (heldUntil ?? Infinity), `nobody will wake for the batch that ${model.key} holds back`);
    }
    for (const worker of this.#ledger.workers.values()) {
      const runLimitAt = worker.isCondemned ? Infinity : Math.min(...worker.outstanding.map((one) => one.runLimitAt));
      claim(this.#wakeAt <= runLimitAt, `nobody will wake for the run time limit of worker ${worker.id}`);
    }
  }
}

/** A request may shorten what its level says, where that says anything and lets it. */
function queueTimeoutMs(arrived: ArrivedRequest, model: LedgerModel): number {
  const { timeoutMs, allowsTimeoutOverride } = queuePolicyIn(model.policy, arrived.priority);
  return allowsTimeoutOverride && timeoutMs !== Number.POSITIVE_INFINITY
    ? Math.min(timeoutMs, arrived.queueTimeoutMs)
    : timeoutMs;
}

function claimNothingOwed(owed: Owed): void {
  for (const [request, code] of owed.refusals)
    throw new TruthViolation(`request ${request} was not refused with ${code}`);
  for (const [request, batch] of owed.deliveries)
    throw new TruthViolation(`request ${request} of ${batch.id} got no answer`);
  for (const batch of owed.cancels)
    throw new TruthViolation(`nobody waits for batch ${batch.id}, but it is not cancelled`);
  for (const model of owed.idle) throw new TruthViolation(`${model} is not known, but it is not said that it is idle`);
  for (const worker of owed.kills) throw new TruthViolation(`worker ${worker} runs too long, but is not killed`);
}
