/** Limits how many requests run at once, and how many wait. */
export interface GateLimits {
  readonly inflightMax: number;
  readonly waitingMax: number;
  readonly waitingBytesMax: number;
}

interface Waiting<Entry> {
  readonly entry: Entry;
  readonly bytes: number;
}

/** Lets a number of requests run at once; others wait in order of arrival, up to a limit. */
export class InflightGate<Entry> {
  readonly #limits: GateLimits;
  #waiting: Waiting<Entry>[] = [];
  #waitingBytes = 0;
  #inflight = 0;

  constructor(limits: GateLimits) {
    this.#limits = limits;
  }

  get inflightCount(): number {
    return this.#inflight;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  enter(entry: Entry, bytes: number): 'now' | 'waits' | 'full' {
    const { inflightMax, waitingMax, waitingBytesMax } = this.#limits;
    if (this.#inflight < inflightMax) {
      this.#inflight += 1;
      return 'now';
    }
    if (this.#waiting.length >= waitingMax || this.#waitingBytes + bytes > waitingBytesMax) return 'full';
    this.#waiting.push({ entry, bytes });
    this.#waitingBytes += bytes;
    return 'waits';
  }

  /** A running request has ended; returns the one to start now. */
  leave(): Entry | undefined {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inflight -= 1;
    else this.#waitingBytes -= next.bytes;
    return next?.entry;
  }

  /** It no longer waits; false when it did not. */
  giveUp(entry: Entry): boolean {
    const index = this.#waiting.findIndex((waiting) => waiting.entry === entry);
    if (index < 0) return false;
    this.#waitingBytes -= this.#waiting[index]?.bytes ?? 0;
    this.#waiting.splice(index, 1);
    return true;
  }
}
