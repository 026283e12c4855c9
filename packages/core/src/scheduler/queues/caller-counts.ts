import { copyOfText } from '@millrace/protocol';

/**
 * How much of each caller waits, over all models. A caller's entry is looked up once per request and referenced then.
 */
export class CallerCount {
  readonly name: string;
  waitingRequests = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Callers with nothing waiting stay until there are too many of them: most callers come again, and a table whose
 * entries come and go with every request would be rebuilt all the time.
 */
export const idleCallersMax = 4096;

export class CallerCounts {
  readonly #callers = new Map<string, CallerCount>();
  #sweepAt = idleCallersMax;
  /** Requests of one connection arrive in a row. */
  #last = new CallerCount('');

  get count(): number {
    return this.#callers.size;
  }

  entryOf(name: string): CallerCount {
    if (name === this.#last.name && this.#last.waitingRequests > 0) return this.#last;
    let entry = this.#callers.get(name);
    if (entry === undefined) {
      if (this.#callers.size >= this.#sweepAt) this.#sweep();
      // Kept for longer than its request: a view would keep the head of the request alive.
      entry = new CallerCount(copyOfText(name));
      this.#callers.set(entry.name, entry);
    }
    this.#last = entry;
    return entry;
  }

  #sweep(): void {
    for (const [name, entry] of this.#callers) if (entry.waitingRequests === 0) this.#callers.delete(name);
    // So that a table full of waiting callers is not swept in vain for each new one.
    this.#sweepAt = Math.max(idleCallersMax, 2 * this.#callers.size);
  }
}
