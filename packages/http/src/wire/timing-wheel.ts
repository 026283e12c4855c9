/**
 * One clock for a whole server: a hashed wheel whose entries are set and moved in constant time, and one interval
 * behind it, however many connections there are. Its `nowMs` is the time of the last tick: what activity is stamped with.
 */
export interface WheelClock {
  /** Milliseconds that only ever grow. */
  nowMs(): number;
}

/** Something that wants to be woken; it belongs to one wheel and stands at most once in it. */
export abstract class WheelEntry {
  dueMs = 0;
  next: WheelEntry | undefined = undefined;
  previous: WheelEntry | undefined = undefined;
  slot = -1;

  abstract onDue(nowMs: number): void;
}

const slotCount = 256;
/** Deadlines are kept to this resolution unless a wheel is given another. */
export const tickMs = 100;

export class TimingWheel {
  nowMs: number;
  readonly #clock: WheelClock;
  readonly #tickMs: number;
  readonly #slots: (WheelEntry | undefined)[] = new Array<WheelEntry | undefined>(slotCount).fill(undefined);
  #tick: number;
  #count = 0;
  #interval: NodeJS.Timeout | undefined;

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
    this.#interval ??= setInterval(() => setImmediate(this.#advance), this.#tickMs).unref();
  }

  /**
   * Behind what has arrived: where the event loop was held up, a peer that was in time must not be found too late because
   * timers come before reads.
   */
  readonly #advance = (): void => {
    if (this.#interval !== undefined) this.advance();
  };

  stop(): void {
    clearInterval(this.#interval);
    this.#interval = undefined;
  }

  /** Wakes the entry at the first tick that is not before `dueMs`; an entry already set is moved. */
  set(entry: WheelEntry, dueMs: number): void {
    if (entry.slot >= 0) this.#unlink(entry);
    entry.dueMs = dueMs;
    // What is due later than one turn lies in the slot of the turn's end and is looked at again there.
    const ticks = Math.min(Math.max(Math.ceil(dueMs / this.#tickMs), this.#tick + 1), this.#tick + slotCount - 1);
    const slot = ticks % slotCount;
    entry.slot = slot;
    const head = this.#slots[slot];
    entry.next = head;
    if (head !== undefined) head.previous = entry;
    this.#slots[slot] = entry;
    this.#count++;
  }

  clear(entry: WheelEntry): void {
    if (entry.slot >= 0) this.#unlink(entry);
  }

  /** Moves to the clock's time and wakes what is due. */
  advance(): void {
    this.nowMs = this.#clock.nowMs();
    const target = Math.floor(this.nowMs / this.#tickMs);
    // After a long stall every slot is looked at once, not once per missed turn.
    if (target - this.#tick > slotCount) this.#tick = target - slotCount;
    while (this.#tick < target) {
      this.#tick++;
      this.#wake(this.#tick % slotCount);
    }
  }

  #wake(slot: number): void {
    let entry = this.#slots[slot];
    const due: WheelEntry[] = [];
    while (entry !== undefined) {
      due.push(entry);
      entry = entry.next;
    }
    for (const one of due) {
      // One that was woken before it may have taken this one out.
      if (one.slot !== slot) continue;
      if (one.dueMs > this.nowMs) this.set(one, one.dueMs);
      else {
        this.#unlink(one);
        one.onDue(this.nowMs);
      }
    }
  }

  #unlink(entry: WheelEntry): void {
    if (entry.previous !== undefined) entry.previous.next = entry.next;
    else this.#slots[entry.slot] = entry.next;
    if (entry.next !== undefined) entry.next.previous = entry.previous;
    entry.next = undefined;
    entry.previous = undefined;
    entry.slot = -1;
    this.#count--;
  }
}
