import type { ArrivedRequest, RequestId } from '../events.ts';
import type { Batch } from './batch.ts';
import type { ModelEntry } from './model-entry.ts';

/**
 * What the scheduler knows of one request between its arrival and its answer. It waits in its model's queue or belongs
 * to a batch, never both. The links of the queue and the place in the deadline heap lie in the entry itself, so that
 * leaving either costs no search.
 */
export class RequestEntry {
  readonly request: RequestId;
  readonly model: ModelEntry;
  readonly rows: number;
  readonly bytes: number;
  readonly group: string;
  readonly deadlineAt: number;
  /** Position among all arrivals: the order of every queue, kept also by requests that come back to it. */
  readonly arrival: number;

  /** The batch it was last dispatched in; undefined while it waits and once it is settled. */
  batch: Batch | undefined = undefined;
  isWaiting: boolean = false;
  older: RequestEntry | undefined = undefined;
  younger: RequestEntry | undefined = undefined;
  heapIndex = -1;

  /** It must not share a batch: something went wrong in company, and it is to be seen whether this one was the cause. */
  isAlone: boolean = false;
  /** Workers that died while they ran it. */
  deaths = 0;
  /** Times it lost its place on a worker through no fault of its own. */
  requeues = 0;

  constructor(arrived: ArrivedRequest, model: ModelEntry, arrival: number) {
    this.request = arrived.request;
    this.model = model;
    this.rows = arrived.rows;
    this.bytes = arrived.bytes;
    this.group = arrived.group;
    this.deadlineAt = arrived.deadlineAt;
    this.arrival = arrival;
  }
}
