import { assert } from '../assert.ts';
import type { ArrivedRequest, RequestId } from '../events.ts';
import { takeBatch } from './batch-formation.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import type { ModelEntry } from './model-entry.ts';
import { RequestEntry } from './request-entry.ts';

/** Every request that has no answer yet, and how much of them waits: one place keeps all counts in step. */
export class RequestTable {
  readonly deadlines = new DeadlineHeap();
  /** What waits in all queues together. */
  readonly waiting = { requestCount: 0, byteCount: 0 };
  readonly #entries = new Map<RequestId, RequestEntry>();
  #arrivalCount = 0;

  get count(): number {
    return this.#entries.size;
  }

  has(request: RequestId): boolean {
    return this.#entries.has(request);
  }

  takeKnown(request: RequestId): RequestEntry | undefined {
    return this.#entries.get(request);
  }

  append(arrived: ArrivedRequest, model: ModelEntry): void {
    this.#arrivalCount += 1;
    const entry = new RequestEntry(arrived, model, this.#arrivalCount);
    this.#entries.set(entry.request, entry);
    this.deadlines.add(entry);
    model.queue.append(entry);
    this.waiting.requestCount += 1;
    this.waiting.byteCount += entry.bytes;
  }

  /** Returns requests of one model to their old places. They were admitted once; a full queue does not refuse them now. */
  putBack(model: ModelEntry, entries: readonly RequestEntry[]): void {
    model.queue.putBack(entries);
    for (const entry of entries) this.waiting.byteCount += entry.bytes;
    this.waiting.requestCount += entries.length;
  }

  takeBatch(model: ModelEntry, lookAheadMax: number): RequestEntry[] {
    const entries = takeBatch(model.queue, model.limits.rowsMax, lookAheadMax);
    for (const entry of entries) this.waiting.byteCount -= entry.bytes;
    this.waiting.requestCount -= entries.length;
    return entries;
  }

  leaveQueue(entry: RequestEntry): void {
    entry.model.queue.remove(entry);
    this.waiting.requestCount -= 1;
    this.waiting.byteCount -= entry.bytes;
  }

  /** The request has its one answer; whatever else is said of it is ignored. */
  settle(entry: RequestEntry): void {
    assert(!entry.isWaiting && entry.batch === undefined, 'a settled request waits for nothing');
    assert(this.#entries.delete(entry.request), 'a request is settled once');
    this.deadlines.remove(entry);
  }
}
