import { assert } from '../../assert.ts';
import type { ArrivedRequest, RequestId } from '../../events.ts';
import type { QueuePolicy } from '../../model-policy.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { CallerCount } from '../queues/caller-counts.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { RequestEntry } from './request-entry.ts';

/** All unanswered requests, and how many of them wait: the only code that changes these counts. */
export class RequestTable {
  readonly deadlines = new DeadlineHeap();
  /** Waiting requests and bytes of all queues together. */
  readonly waiting = { requestCount: 0, byteCount: 0 };
  /**
   * By id. Not a Map: one whose keys come and go is rebuilt all the time, and each dead table keeps the next one and
   * its requests alive until the next full garbage collection.
   */
  readonly #entries: (RequestEntry | undefined)[] = [];
  #count = 0;
  #arrivalCount = 0;

  get count(): number {
    return this.#count;
  }

  has(request: RequestId): boolean {
    return this.#entries[request] !== undefined;
  }

  takeKnown(request: RequestId): RequestEntry | undefined {
    return this.#entries[request];
  }

  /** `level` counts from 0. */
  append(arrived: ArrivedRequest, model: ModelEntry, level: number, caller: CallerCount, nowMs: number): void {
    this.#arrivalCount += 1;
    const timeoutAt = queueTimeoutAt(arrived, model.policy.queues[level] as QueuePolicy, nowMs);
    const entry = new RequestEntry(arrived, model, caller, this.#arrivalCount, nowMs, timeoutAt);
    this.#entries[entry.request] = entry;
    this.#count += 1;
    if (entry.dueAt !== undefined) this.deadlines.add(entry);
    model.queue.add(entry, false);
    if (model.policy.isOrdered) model.answerOrder.append(entry);
    caller.waitingRequests += 1;
    this.waiting.requestCount += 1;
    this.waiting.byteCount += entry.bytes;
  }

  /** Returns requests of one model to their old places. They were admitted once; a full queue does not refuse them now. */
  putBack(model: ModelEntry, entries: readonly RequestEntry[]): void {
    model.queue.putBack(entries);
    for (const entry of entries) {
      this.waiting.byteCount += entry.bytes;
      entry.callerCount.waitingRequests += 1;
    }
    this.waiting.requestCount += entries.length;
  }

  /** They left their queue for a batch. Their queue timeout no longer applies, also when they are put back. */
  noteTaken(entries: readonly RequestEntry[]): void {
    for (const entry of entries) {
      this.waiting.byteCount -= entry.bytes;
      entry.callerCount.waitingRequests -= 1;
      this.#endQueueTimeout(entry);
    }
    this.waiting.requestCount -= entries.length;
  }

  leaveQueue(entry: RequestEntry): void {
    entry.model.queue.remove(entry);
    entry.callerCount.waitingRequests -= 1;
    this.waiting.requestCount -= 1;
    this.waiting.byteCount -= entry.bytes;
  }

  /** Its queue timeout passed, and it waits on behind the others. */
  delay(entry: RequestEntry): void {
    entry.model.queue.delay(entry);
    this.#endQueueTimeout(entry);
  }

  /** The request has its one answer; later events about it are ignored. */
  settle(entry: RequestEntry): void {
    assert(!entry.isWaiting && entry.batch === undefined, 'a settled request waits for nothing');
    assert(this.#entries[entry.request] === entry, 'a request is settled once');
    this.#entries[entry.request] = undefined;
    this.#count -= 1;
    if (entry.dueAt !== undefined) this.deadlines.remove(entry);
  }

  #endQueueTimeout(entry: RequestEntry): void {
    if (entry.queueTimeoutAt === undefined) return;
    entry.queueTimeoutAt = undefined;
    this.deadlines.setDue(entry, entry.deadlineAt);
  }
}

/** As in Triton, a request can only shorten the timeout of its level, and only if the level has one and allows it. */
function queueTimeoutAt(arrived: ArrivedRequest, policy: QueuePolicy, nowMs: number): number | undefined {
  const { timeoutMs, allowsTimeoutOverride } = policy;
  if (timeoutMs === Number.POSITIVE_INFINITY) return undefined;
  return nowMs + (allowsTimeoutOverride ? Math.min(arrived.queueTimeoutMs, timeoutMs) : timeoutMs);
}
