/**
 * One clock for a whole server: a hashed timing wheel whose entries are set and moved in constant time, driven by one
 * interval however many connections there are. Its `nowMs` is the time of the last tick, used as timestamp of activity.
 */
export interface WheelClock {
  /** Monotonic milliseconds. */
  nowMs(): number;
}

/** Something to be woken; it belongs to one wheel and is in it at most once. */
export abstract class WheelEntry {
  dueMs = 0;
  next: WheelEntry | undefined = undefined;
  previous: WheelEntry | undefined = undefined;
  bucket = -1;

  abstract onDue(nowMs: number): void;
}

const bucketCount = 256;
/** Resolution of deadlines unless a wheel is given another. */
export const tickMs = 100;
/**
 * Milliseconds of a turn of the event loop for what is due, of a wheel that ticks by itself; the rest has the next turns. Closing a
 * connection takes several times as long in the ticks that follow.
 */
export const wakeMsPerTurn = 1;

export class TimingWheel {
  nowMs: number;
  readonly #clock: WheelClock;
  readonly #tickMs: number;
  readonly #buckets: (WheelEntry | undefined)[] = new Array<WheelEntry | undefined>(bucketCount).fill(undefined);
  #tick: number;
  #count = 0;
  #interval: NodeJS.Timeout | undefined;
  #isAdvanceDue: boolean = false;

  constructor(clock: WheelClock, resolutionMs: number = tickMs) {
    this.#clock = clock;
    this.#tickMs = resolutionMs;
    this.nowMs = clock.nowMs();
    this.#tick = Math.floor(this.nowMs / resolutionMs);
  }

  get count(): number {
    return this.#count;
  }

  /** Ticks by itself from now on, without keeping the process alive. */
  start(): void {
    this.#interval ??= setInterval(() => this.#advanceLater(), this.#tickMs).unref();
  }

  /**
   * Ticks after pending reads: where the event loop was blocked, a peer that was in time must not count as late because
   * timers run before reads.
   */
  #advanceLater(): void {
    if (this.#isAdvanceDue) return;
    this.#isAdvanceDue = true;
    setImmediate(this.#advance);
  }

  readonly #advance = (): void => {
    this.#isAdvanceDue = false;
    if (this.#interval !== undefined && !this.advance(wakeMsPerTurn)) this.#advanceLater();
  };

  stop(): void {
    clearInterval(this.#interval);
    this.#interval = undefined;
  }

  /** Wakes the entry at the first tick that is not before `dueMs`; an entry already set is moved. */
  set(entry: WheelEntry, dueMs: number): void {
    if (entry.bucket >= 0) this.#unlink(entry);
    entry.dueMs = dueMs;
    // An entry due later than one turn is in the bucket of the turn's end and is moved on there.
    const ticks = Math.min(Math.max(Math.ceil(dueMs / this.#tickMs), this.#tick + 1), this.#tick + bucketCount - 1);
    const bucket = ticks % bucketCount;
    entry.bucket = bucket;
    const head = this.#buckets[bucket];
    entry.next = head;
    if (head !== undefined) head.previous = entry;
    this.#buckets[bucket] = entry;
    this.#count++;
  }

  clear(entry: WheelEntry): void {
    if (entry.bucket >= 0) this.#unlink(entry);
  }

  /** Advances to the clock's time and wakes what is due. False: the time was up, and some may be left. */
  advance(msMax: number = Number.POSITIVE_INFINITY): boolean {
    this.nowMs = this.#clock.nowMs();
    const target = Math.floor(this.nowMs / this.#tickMs);
    const untilMs = this.nowMs + msMax;
    // After a long stall every bucket is visited once, not once per missed turn.
    if (target - this.#tick > bucketCount) this.#tick = target - bucketCount;
    // The current bucket has what was left the last time.
    while (this.#wake(this.#tick % bucketCount, untilMs)) {
      if (this.#tick >= target) return true;
      this.#tick++;
    }
    return false;
  }

  #wake(bucket: number, untilMs: number): boolean {
    for (let entry = this.#buckets[bucket]; entry !== undefined; entry = this.#buckets[bucket]) {
      // None comes back to the bucket that is woken: it is set for a later tick.
      if (entry.dueMs > this.nowMs) {
        this.set(entry, entry.dueMs);
        continue;
      }
      this.#unlink(entry);
      entry.onDue(this.nowMs);
      if (this.#clock.nowMs() > untilMs) return false;
    }
    return true;
  }

  #unlink(entry: WheelEntry): void {
    if (entry.previous !== undefined) entry.previous.next = entry.next;
    else this.#buckets[entry.bucket] = entry.next;
    if (entry.next !== undefined) entry.next.previous = entry.previous;
    entry.next = undefined;
    entry.previous = undefined;
    entry.bucket = -1;
    this.#count--;
  }
}
