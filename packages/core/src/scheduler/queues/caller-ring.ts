import { RequestList } from '../requests/request-list.ts';
import { CallerTable } from './caller-table.ts';

/** The waiting requests of one caller at one priority level, oldest first. */
export class CallerQueue extends RequestList {
  caller = '';
  /** Rows it may still send in this round. The rest is kept for the next round, and lost when its queue is empty. */
  deficit = 0;
  previous: CallerQueue = this;
  next: CallerQueue = this;
  /** The next one in the same bucket of the caller table. */
  nextInBucket: CallerQueue | undefined = undefined;
}

/**
 * A request of the largest size is affordable after at most this many rounds, which limits the cost of finding the next
 * turn. With up to 64 rows per batch the quantum is one row, so that as many callers as possible share each batch.
 */
const roundsMax = 64;

export function quantumFor(rowsMax: number): number {
  return Math.ceil(rowsMax / roundsMax);
}

/**
 * Deficit round robin between the callers that have something waiting: each turn gives a caller `quantum` rows, and it
 * sends what it can afford. A caller joins with its first waiting request and is removed with its last one. A caller
 * that is alone pays nothing.
 */
export class CallerRing {
  /** Whose turn it is; undefined when nothing waits. */
  current: CallerQueue | undefined = undefined;
  quantum = 1;
  readonly #table = new CallerTable();
  /** The last queue that was removed, for reuse: with one caller the ring empties and fills all the time. */
  #spare: CallerQueue | undefined = new CallerQueue();

  get callerCount(): number {
    return this.#table.count;
  }

  /** The queue of the caller, who joins if needed: last in the round, or next when its request is retried. */
  queueOf(caller: string, isComingBack: boolean): CallerQueue {
    const { current } = this;
    if (current !== undefined && current.caller === caller) return current;
    return (current !== undefined && this.#table.take(caller)) || this.#join(caller, isComingBack);
  }

  /** Waiting rows of the caller. */
  rowsOf(caller: string): number {
    return this.#table.take(caller)?.rowCount ?? 0;
  }

  /** Bytes of its waiting requests. */
  bytesOf(caller: string): number {
    return this.#table.take(caller)?.byteCount ?? 0;
  }

  /** Call it when the queue is empty. */
  leave(queue: CallerQueue): void {
    this.#table.remove(queue);
    const { previous, next } = queue;
    if (next === queue) {
      this.current = undefined;
    } else {
      previous.next = next;
      next.previous = previous;
      if (this.current === queue) this.#begin(next);
    }
    queue.previous = queue;
    queue.next = queue;
    queue.deficit = 0;
    queue.caller = '';
    this.#spare = queue;
  }

  affords(queue: CallerQueue, rows: number): boolean {
    return queue.deficit >= rows || queue.next === queue;
  }

  pay(queue: CallerQueue, rows: number): void {
    if (queue.next !== queue) queue.deficit -= rows;
  }

  /** Ends the turn of the current caller. */
  advance(): void {
    if (this.current !== undefined) this.#begin(this.current.next);
  }

  /** The current caller may not use its turn, and loses it: what it saved up is gone. */
  skip(): void {
    if (this.current === undefined) return;
    this.current.deficit = 0;
    this.advance();
  }

  #begin(queue: CallerQueue): void {
    this.current = queue;
    queue.deficit += this.quantum;
  }

  #join(caller: string, isNext: boolean): CallerQueue {
    const queue = this.#spare ?? new CallerQueue();
    this.#spare = undefined;
    queue.caller = caller;
    this.#table.add(queue);
    const { current } = this;
    if (current === undefined) {
      this.#begin(queue);
      return queue;
    }
    // In a ring, before the current one means after all others.
    const previous = isNext ? current : current.previous;
    queue.previous = previous;
    queue.next = previous.next;
    previous.next.previous = queue;
    previous.next = queue;
    return queue;
  }
}
