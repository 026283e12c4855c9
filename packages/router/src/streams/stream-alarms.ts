/** Wakes the streams of this router by one timer: one for each would take more memory than most other parts of an idle stream. */
import { type IndexedEntry, IndexedHeap } from '@millrace/core';
import type { StreamClock } from './stream-clock.ts';

export interface WokenStream extends IndexedEntry {
  /** Set by the alarms. */
  wakeAtMs: number;
  /** It is time; a next time has to be asked for. */
  wake(): void;
}

export class StreamAlarms extends IndexedHeap<WokenStream> {
  readonly #clock: Pick<StreamClock, 'wallNow' | 'alarm'>;
  /** When the timer fires; Infinity: there is none. */
  #timedMs = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Pick<StreamClock, 'wallNow' | 'alarm'>) {
    super();
    this.#clock = clock;
  }

  /** Takes the place of the time that the stream asked for before. */
  set(stream: WokenStream, atMs: number): void {
    stream.wakeAtMs = atMs;
    if (stream.heapIndex === -1) this.insert(stream);
    else this.move(stream);
    this.#setTimer();
  }

  protected override isBefore(left: WokenStream, right: WokenStream): boolean {
    return left.wakeAtMs < right.wakeAtMs;
  }

  /** A timer that was set for a stream that is gone fires in vain: that costs less than to set it again each time. */
  #setTimer(): void {
    const { first } = this;
    if (first === undefined || first.wakeAtMs >= this.#timedMs) return;
    this.#cancelTimer?.();
    this.#timedMs = first.wakeAtMs;
    this.#cancelTimer = this.#clock.alarm(Math.max(0, first.wakeAtMs - this.#clock.wallNow()), () => this.#wake());
  }

  #wake(): void {
    this.#timedMs = Number.POSITIVE_INFINITY;
    this.#cancelTimer = undefined;
    const nowMs = this.#clock.wallNow();
    for (let next = this.first; next !== undefined && next.wakeAtMs <= nowMs; next = this.first) {
      this.remove(next);
      next.wake();
    }
    this.#setTimer();
  }
}
