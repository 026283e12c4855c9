import { DeadlineHeap } from '../scheduler/requests/deadline-heap.ts';
import type { StepEntry } from './sequence.ts';

/** Waiting steps of all sequences: how many, how large, and which deadline is next. */
export class WaitingSteps {
  readonly #deadlines = new DeadlineHeap<StepEntry>();
  count = 0;
  bytes = 0;

  /** Infinity when none has a deadline. */
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

  /** Its sequence has a slot: from now on only the step's own deadline counts. */
  endSlotWait(entry: StepEntry): void {
    this.#deadlines.setDue(entry, entry.limitAt);
  }
}
