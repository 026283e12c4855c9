/** One sequence, live or waiting for a slot, and its steps. */
import type { SequenceOwner } from './sequence-owners.ts';
import type { ArrivedStep, EndReason, SequenceNumber, StepId } from './sequencer-events.ts';

export class StepEntry {
  readonly step: StepId;
  readonly sequence: Sequence;
  readonly isStart: boolean;
  readonly isEnd: boolean;
  readonly bytes: number;
  /** Deadline of the step itself. */
  readonly limitAt: number;
  /** Until then its sequence may wait for a slot. */
  readonly slotLimitAt: number;
  /** The slot wait limit is the step's own, not the model's. */
  readonly isOwnSlotLimit: boolean;
  /** The sooner of the two while the sequence waits for a slot, the step's own afterwards. */
  dueAt: number;
  /** Increasing; breaks ties of equal deadlines. */
  readonly arrival: number;
  heapIndex = -1;

  constructor(arrived: ArrivedStep, sequence: Sequence, arrival: number, nowMs: number, slotWaitMsMax: number) {
    this.step = arrived.step;
    this.sequence = sequence;
    this.isStart = arrived.isStart;
    this.isEnd = arrived.isEnd;
    this.bytes = arrived.bytes;
    this.limitAt = arrived.deadlineAt;
    this.slotLimitAt = nowMs + Math.min(arrived.slotWaitMsMax, slotWaitMsMax);
    this.isOwnSlotLimit = arrived.slotWaitMsMax <= slotWaitMsMax;
    this.dueAt = sequence.hasSlot ? this.limitAt : Math.min(this.limitAt, this.slotLimitAt);
    this.arrival = arrival;
  }
}

export class Sequence {
  readonly number: SequenceNumber;
  readonly owner: SequenceOwner;
  readonly id: bigint | string;
  /** When its first step arrived. */
  readonly beganAt: number;
  hasSlot: boolean = false;
  /** Some step was run: the caller may hold state. */
  hasBegun: boolean = false;
  /** It accepts no further step: its end has arrived, or a step was lost. It is over when nothing waits or runs. */
  isClosed: boolean = false;
  /** The reason that is reported then. */
  endReason: EndReason = 'ended';
  running: StepEntry | undefined = undefined;
  /** In order of arrival. */
  waiting: StepEntry[] = [];
  /** Since when it is idle. */
  idleSince = 0;

  constructor(number: SequenceNumber, owner: SequenceOwner, id: bigint | string, beganAt: number) {
    this.number = number;
    this.owner = owner;
    this.id = id;
    this.beganAt = beganAt;
  }

  get isBusy(): boolean {
    return this.running !== undefined || this.waiting.length > 0;
  }

  /**
   * Removes the steps from `position` on, up to the next one that starts the sequence anew. Without such a one the
   * sequence is closed: later steps would run without the lost ones.
   */
  takeBehind(position: number): readonly StepEntry[] {
    const restart = this.waiting.findIndex((entry, index) => index >= position && entry.isStart);
    if (restart === -1) this.isClosed = true;
    return this.waiting.splice(position, (restart === -1 ? this.waiting.length : restart) - position);
  }
}
