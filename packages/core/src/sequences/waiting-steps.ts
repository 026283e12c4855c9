import { DeadlineHeap } from '../scheduler/requests/deadline-heap.ts';
import type { StepEntry } from './sequence.ts';

/** Steps of all sequences that wait for their turn: how many, how large, and whose patience ends next. */
export class WaitingSteps {
  readonly #deadlines = new DeadlineHeap<StepEntry>();
  count = 0;
  bytes = 0;

  /** Infinity when no one's does. */
  get soonestAt(): number {
    return this.#deadlines.soonestAt;
  }

  takeExpired(nowMs: number): StepEntry | undefined {
    return this.#deadlines.takeExpired(nowMs);
  }

  add(entry: StepEntry): void {
    const { owner } = entry.sequence;
    this.count += 1;
    this.bytes += entry.bytes;
    owner.waitingSteps += 1;
    owner.waitingBytes += entry.bytes;
    this.#deadlines.add(entry);
  }

  remove(entry: StepEntry): void {
    const { owner } = entry.sequence;
    this.count -= 1;
    this.bytes -= entry.bytes;
    owner.waitingSteps -= 1;
    owner.waitingBytes -= entry.bytes;
    this.#deadlines.remove(entry);
  }

  /** Its sequence has a slot: from here on only its own deadline counts. */
  endSlotWait(entry: StepEntry): void {
    this.#deadlines.setDue(entry, entry.limitAt);
  }
}
