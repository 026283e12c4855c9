import type { ArrivedRequest, BatchId, RequestId } from '../../events.ts';
import type { Batch } from '../batches/batch.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { CallerCount } from '../queues/caller-counts.ts';
import type { RequestList } from './request-list.ts';

/**
 * What the scheduler knows of one request between its arrival and its answer. It waits in its model's queue or belongs
 * to a batch, never both. The links of the queue and the place in the deadline heap lie in the entry itself, so that
 * leaving either costs no search. One is made for every request, so it is kept small: what was said at the arrival is
 * read there, and a time that does not exist is undefined, because every field that holds a fraction is an object.
 */
export class RequestEntry {
  readonly arrived: ArrivedRequest;
  readonly model: ModelEntry;
  readonly rows: number;
  /** What its caller has waiting in all queues. */
  readonly callerCount: CallerCount;
  readonly arrivedAt: number;
  /** Position among all arrivals: the order of every queue, kept also by requests that come back to it. */
  readonly arrival: number;
  /** When it has waited as long as its level lets it; undefined when that is no matter, or no matter any more. */
  queueTimeoutAt: number | undefined;
  /** When time alone has something to say of it: the sooner of its deadline and its queue timeout; undefined: never. */
  dueAt: number | undefined;

  /** The batch it was last dispatched in; undefined while it waits, once it is answered and once it is settled. */
  batch: Batch | undefined = undefined;
  /** Where it waits; undefined: it does not. */
  list: RequestList | undefined = undefined;
  older: RequestEntry | undefined = undefined;
  younger: RequestEntry | undefined = undefined;
  /** Position in the levels of its model's queue; of meaning while it waits. */
  level = 0;
  heapIndex = -1;
  /** It waited too long and stands behind the others of its level. */
  isDelayed: boolean = false;

  /** The places beside it in the order in which its model's answers leave, where they have one. */
  earlier: RequestEntry | undefined = undefined;
  later: RequestEntry | undefined = undefined;
  /** The batch that answered it, while the answer waits for those of earlier requests; 0: none. */
  answeredIn: BatchId = 0;

  /** It must not share a batch: it said so when it arrived, or a batch it shared failed and it may be the cause. */
  isAlone: boolean;
  /** Workers that died while they ran it. */
  deaths = 0;
  /** Times it lost its place on a worker through no fault of its own. */
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
