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

  append(arrived: ArrivedRequest, model: ModelEntry): void {
    this.#arrivalCount += 1;
    const entry = new RequestEntry(arrived, model, this.#arrivalCount);
    this.#entries[entry.request] = entry;
    this.#count += 1;
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
    const entries = takeBatch(model.queue, model.policy.rowsMax, lookAheadMax);
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
    assert(this.#entries[entry.request] === entry, 'a request is settled once');
    this.#entries[entry.request] = undefined;
    this.#count -= 1;
    this.deadlines.remove(entry);
  }
}
