import type { ArrivedRequest, BatchId, RequestId } from '../../events.ts';
import type { Batch } from '../batches/batch.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { CallerCount } from '../queues/caller-counts.ts';
import type { RequestList } from './request-list.ts';

/**
 * The scheduler's state of one request between its arrival and its answer. It waits in its model's queue or belongs
 * to a batch, never both. The links of the queue and the index in the deadline heap are in the entry itself, so that
 * removal needs no search. One is created for every request, so it is kept small: what arrived is read from the arrival
 * itself, and a missing time is undefined, because every field that holds a fraction is an allocated object.
 */
export class RequestEntry {
  readonly arrived: ArrivedRequest;
  readonly model: ModelEntry;
  readonly rows: number;
  /** What its caller has waiting in all queues. */
  readonly callerCount: CallerCount;
  readonly arrivedAt: number;
  /** Position among all arrivals: the order of every queue, also for requests that are put back. */
  readonly arrival: number;
  /** When its queue timeout passes; undefined without one, and once it no longer applies. */
  queueTimeoutAt: number | undefined;
  /** The sooner of its deadline and its queue timeout; undefined: neither. */
  dueAt: number | undefined;

  /** The batch it was last dispatched in; undefined while it waits, once it is answered and once it is settled. */
  batch: Batch | undefined = undefined;
  /** The queue it waits in; undefined: it does not wait. */
  list: RequestList | undefined = undefined;
  older: RequestEntry | undefined = undefined;
  younger: RequestEntry | undefined = undefined;
  /** Index of its level in its model's queue; valid while it waits. */
  level = 0;
  heapIndex = -1;
  /** It waited too long and is behind the others of its level. */
  isDelayed: boolean = false;

  /** Its neighbours in the order in which its model's answers are delivered, if they are ordered. */
  earlier: RequestEntry | undefined = undefined;
  later: RequestEntry | undefined = undefined;
  /** The batch that answered it, while the answer waits for those of earlier requests; 0: none. */
  answeredIn: BatchId = 0;

  /** It must not share a batch: it said so when it arrived, or a batch it shared failed and it may be the cause. */
  isAlone: boolean;
  /** Workers that died while they ran it. */
  deaths = 0;
  /** How many of these deaths were by a signal from outside. */
  kills = 0;
  /** One of the others was of a worker that ran nothing else. */
  hasKilledWorker: boolean = false;
  /** How often it was put back in the queue through no fault of its own. */
  requeues = 0;

  constructor(
    arrived: ArrivedRequest,
    model: ModelEntry,
    callerCount: CallerCount,
    arrival: number,
    nowMs: number,
    queueTimeoutAt: number | undefined,
  ) {
    this.arrived = arrived;
    this.model = model;
    this.rows = arrived.rows;
    this.callerCount = callerCount;
    this.arrivedAt = nowMs;
    this.arrival = arrival;
    this.queueTimeoutAt = queueTimeoutAt;
    this.isAlone = arrived.isAlone;
    this.dueAt = soonerOf(arrived.deadlineAt, queueTimeoutAt);
  }

  get request(): RequestId {
    return this.arrived.request;
  }

  get bytes(): number {
    return this.arrived.bytes;
  }

  get group(): string {
    return this.arrived.group;
  }

  get caller(): string {
    return this.arrived.caller;
  }

  get priority(): number {
    return this.arrived.priority;
  }

  /** Infinity: it has none. */
  get deadlineAt(): number {
    return this.arrived.deadlineAt;
  }

  get isWaiting(): boolean {
    return this.list !== undefined;
  }
}

function soonerOf(deadlineAt: number, queueTimeoutAt: number | undefined): number | undefined {
  if (deadlineAt === Number.POSITIVE_INFINITY) return queueTimeoutAt;
  return queueTimeoutAt === undefined ? deadlineAt : Math.min(deadlineAt, queueTimeoutAt);
}
