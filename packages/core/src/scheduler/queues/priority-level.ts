import type { RequestEntry } from '../requests/request-entry.ts';
import { RequestList } from '../requests/request-list.ts';
import { type CallerQueue, CallerRing } from './caller-ring.ts';

/** The waiting requests at one priority level of a model: callers take turns, those that waited too long come last. */
export class PriorityLevel {
  readonly ring = new CallerRing();
  /** Requests over their queue timeout that may wait on behind the others. */
  readonly delayed = new RequestList();
  requestCount = 0;
  rowCount = 0;
  /** Requests that ran on a worker when it died. */
  suspectCount = 0;

  /** The request that would lead the next batch, approximately: the exact one is known only by taking it. */
  get head(): RequestEntry | undefined {
    return this.ring.current?.oldest ?? this.delayed.oldest;
  }

  /** Rows of the caller that wait here. */
  rowsOf(caller: string): number {
    return this.ring.rowsOf(caller);
  }

  add(entry: RequestEntry, isComingBack: boolean): void {
    if (entry.isDelayed) this.delayed.add(entry);
    else this.ring.queueOf(entry.caller, isComingBack).add(entry);
    this.requestCount += 1;
    this.rowCount += entry.rows;
    if (entry.deaths > 0) this.suspectCount += 1;
  }

  remove(entry: RequestEntry): void {
    this.requestCount -= 1;
    this.rowCount -= entry.rows;
    if (entry.deaths > 0) this.suspectCount -= 1;
    if (entry.isDelayed) {
      this.delayed.remove(entry);
      return;
    }
    const queue = entry.list as CallerQueue;
    queue.remove(entry);
    if (queue.oldest === undefined) this.ring.leave(queue);
  }

  /** Moves it behind the others of its level, for good. */
  delay(entry: RequestEntry): void {
    this.remove(entry);
    entry.isDelayed = true;
    this.add(entry, false);
  }

  /** Whether it holds of the oldest request of some caller, or of one that was delayed. */
  hasAny(isFound: (entry: RequestEntry) => boolean): boolean {
    const first = this.ring.current;
    for (let queue = first; queue?.oldest !== undefined; queue = queue.next === first ? undefined : queue.next) {
      if (isFound(queue.oldest)) return true;
    }
    for (let entry = this.delayed.oldest; entry !== undefined; entry = entry.younger) if (isFound(entry)) return true;
    return false;
  }

  /** All waiting requests, in no particular order. */
  addTo(entries: RequestEntry[]): void {
    const first = this.ring.current;
    for (let queue = first; queue !== undefined; ) {
      for (let entry = queue.oldest; entry !== undefined; entry = entry.younger) entries.push(entry);
      queue = queue.next === first ? undefined : queue.next;
    }
    for (let entry = this.delayed.oldest; entry !== undefined; entry = entry.younger) entries.push(entry);
  }
}
