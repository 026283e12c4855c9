/**
 * Decides for one model which step of which sequence runs when. A sequence lives in one of a limited number of slots
 * from its start to its end; those beyond wait, and owners take turns for slots. Pure, like the scheduler: steps that it says to run
 * are ordinary requests there.
 */
import { assert } from '../assert.ts';
import type { Refusal } from '../scheduler/requests/refusal.ts';
import { WakeUp } from '../scheduler/wake-up.ts';
import { RoomMaking } from './make-room.ts';
import { Sequence, StepEntry } from './sequence.ts';
import { checkSequencePolicy, type SequencePolicy } from './sequence-policy.ts';
import {
  backlogFullRefusal,
  brokenRefusal,
  cancelledStepRefusal,
  expiredStepRefusal,
  missingStartRefusal,
  overShareRefusal,
  reclaimedRefusal,
  slotTimeoutRefusal,
  slotWaitRefusal,
  unloadedRefusal,
  unloadingRefusal,
  waitingFullRefusal,
} from './sequence-refusals.ts';
import { SequenceSlots } from './sequence-slots.ts';
import type { ArrivedStep, EndReason, SequencerAction, SequencerEvent, StepId } from './sequencer-events.ts';
import { WaitingSteps } from './waiting-steps.ts';

export interface SequencerCounts {
  readonly liveSequences: number;
  readonly backlogSequences: number;
  readonly waitingSteps: number;
  readonly waitingBytes: number;
}

export class Sequencer {
  readonly #policy: SequencePolicy;
  readonly #slots: SequenceSlots;
  readonly #steps = new Map<StepId, StepEntry>();
  readonly #waiting = new WaitingSteps();
  readonly #wakeUp = new WakeUp();
  #actions: SequencerAction[] = [];
  #sequenceCount = 0;
  #arrivalCount = 0;
  #closing: 'no' | 'yes' | 'told' = 'no';

  constructor(policy: SequencePolicy) {
    this.#policy = checkSequencePolicy(policy);
    this.#slots = new SequenceSlots(policy);
  }

  /** Takes note of what happened; what follows from it is in `takeActions`. */
  handle(event: SequencerEvent, nowMs: number): void {
    // First, so that what is over by now is over whether or not a timer has fired.
    this.#expire(nowMs);
    switch (event.kind) {
      case 'step-arrived':
        this.#arrived(event.step, nowMs);
        break;
      case 'step-answered':
        this.#answered(event.step, nowMs);
        break;
      case 'step-failed':
        this.#failed(event.step, event, nowMs);
        break;
      case 'step-cancelled':
        this.#cancelled(event.step, event.reason);
        break;
      case 'owner-over-share':
        this.#reclaimIdle(event.owner);
        break;
      case 'closing':
        if (this.#closing === 'no') this.#closing = 'yes';
        break;
      case 'reopened':
        this.#closing = 'no';
        break;
      case 'closing-at-once':
        if (this.#closing === 'no') this.#closing = 'yes';
        this.#closeAll();
        break;
      case 'tick':
        this.#wakeUp.woken();
        break;
    }
    this.#reclaim(nowMs);
    this.#tellClosed();
    this.#askToWake(nowMs);
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly SequencerAction[] {
    const taken = this.#actions;
    this.#actions = [];
    return taken;
  }

  /** Whether a step of this owner and id would go on with a sequence. */
  holds(owner: string, id: bigint | string): boolean {
    return this.#slots.owners.take(owner)?.open.has(id) === true;
  }

  /** Whether the step waits until another sequence ends. */
  waitsForSlot(step: StepId): boolean {
    return this.#steps.get(step)?.sequence.hasSlot === false;
  }

  counts(): SequencerCounts {
    return {
      liveSequences: this.#slots.live.size,
      backlogSequences: this.#slots.backlog.size,
      waitingSteps: this.#waiting.count,
      waitingBytes: this.#waiting.bytes,
    };
  }

  #arrived(arrived: ArrivedStep, nowMs: number): void {
    assert(!this.#steps.has(arrived.step), 'a step id is used once at a time');
    const known = this.#slots.owners.take(arrived.owner)?.open.get(arrived.id);
    const refusal = this.#arrivalRefusal(arrived, known, nowMs);
    if (refusal !== undefined) {
      this.#refuse(arrived.step, refusal);
      // What comes after a step that was refused would run without it.
      if (known !== undefined) this.#close(known);
      return;
    }
    const sequence = known ?? this.#begin(arrived, nowMs);
    this.#arrivalCount += 1;
    const entry = new StepEntry(arrived, sequence, this.#arrivalCount, nowMs, this.#policy.slotWaitMsMax);
    this.#steps.set(entry.step, entry);
    sequence.waiting.push(entry);
    this.#waiting.add(entry);
    this.#slots.idle.delete(sequence);
    if (arrived.isEnd) this.#detach(sequence, 'ended');
    if (sequence.hasSlot) this.#runNext(sequence);
  }

  #arrivalRefusal(arrived: ArrivedStep, known: Sequence | undefined, nowMs: number): Refusal | undefined {
    if (known === undefined && !arrived.isStart) return missingStartRefusal(arrived.id, this.#policy);
    if (arrived.isStart && this.#closing !== 'no') return unloadingRefusal(this.#policy);
    if (arrived.deadlineAt <= nowMs) return expiredStepRefusal;
    const canRunAtOnce = known === undefined ? this.#slots.hasFree : known.hasSlot && !known.isBusy;
    if (canRunAtOnce) return undefined;
    if (known === undefined && !this.#makeBacklogRoom(arrived)) return backlogFullRefusal(this.#policy);
    const { waitingStepsMax, waitingBytesMax } = this.#policy;
    const hasRoom = this.#waiting.count < waitingStepsMax && this.#waiting.bytes + arrived.bytes <= waitingBytesMax;
    return hasRoom || this.#makeWaitingRoom(arrived) ? undefined : waitingFullRefusal(this.#policy);
  }

  /** Whether one more sequence may wait for a slot; the youngest one of the owner with the most makes room. */
  #makeBacklogRoom({ owner }: ArrivedStep): boolean {
    const { owners, backlog } = this.#slots;
    if (backlog.size < this.#policy.backlogSequencesMax) return true;
    const own = owners.take(owner)?.backlog.size ?? 0;
    const most = owners.longestBacklog();
    if (most === undefined || most.backlog.size <= own + 1) return false;
    this.#giveUpSlot([...most.backlog].at(-1) as Sequence, overShareRefusal(this.#policy));
    return true;
  }

  /** Whether one more step may wait for its turn; those of an owner that has more make room. */
  #makeWaitingRoom({ owner, bytes }: ArrivedStep): boolean {
    const { waitingStepsMax, waitingBytesMax } = this.#policy;
    const room = new RoomMaking(this.#slots.owners, this.#steps);
    for (;;) {
      const areStepsFull = this.#waiting.count >= waitingStepsMax;
      if (!areStepsFull && this.#waiting.bytes + bytes <= waitingBytesMax) return true;
      const leaving = areStepsFull
        ? room.takeNext(owner, 'waitingSteps', 1)
        : room.takeNext(owner, 'waitingBytes', bytes);
      if (leaving === undefined) return false;
      this.#lose(leaving, overShareRefusal(this.#policy));
    }
  }

  #begin({ owner, id }: ArrivedStep, nowMs: number): Sequence {
    this.#sequenceCount += 1;
    const sequence = new Sequence(this.#sequenceCount, this.#slots.owners.of(owner), id, nowMs);
    this.#slots.add(sequence);
    return sequence;
  }

  #runNext(sequence: Sequence): void {
    if (sequence.running !== undefined) return;
    const entry = sequence.waiting.shift();
    if (entry === undefined) return;
    this.#waiting.remove(entry);
    sequence.running = entry;
    sequence.hasBegun = true;
    this.#actions.push({ kind: 'run', step: entry.step, sequence: sequence.number, isStart: entry.isStart });
  }

  #answered(step: StepId, nowMs: number): void {
    this.#goOn(this.#takeRunning(step).sequence, nowMs);
  }

  #failed(step: StepId, cause: Refusal, nowMs: number): void {
    const { sequence } = this.#takeRunning(step);
    this.#refuseBroken(sequence, sequence.takeBehind(0), cause);
    // A start that waits behind goes on in the same slot; otherwise this was the last of it.
    if (sequence.waiting.length === 0 && sequence.endReason !== 'unloaded') this.#detach(sequence, 'failed');
    this.#goOn(sequence, nowMs);
  }

  #takeRunning(step: StepId): StepEntry {
    const entry = this.#steps.get(step);
    assert(entry !== undefined && entry.sequence.running === entry, 'only a step that runs is answered or fails');
    this.#steps.delete(step);
    entry.sequence.running = undefined;
    return entry;
  }

  #goOn(sequence: Sequence, nowMs: number): void {
    if (sequence.waiting.length > 0) this.#runNext(sequence);
    else if (sequence.isClosed) this.#end(sequence);
    else {
      sequence.idleSince = nowMs;
      this.#slots.idle.add(sequence);
    }
  }

  #cancelled(step: StepId, reason: 'cancelled' | 'deadline-exceeded'): void {
    const entry = this.#steps.get(step);
    if (entry === undefined) return;
    if (entry.sequence.running === entry) this.#actions.push({ kind: 'cancel-run', step, reason });
    else this.#lose(entry, reason === 'cancelled' ? cancelledStepRefusal : expiredStepRefusal);
  }

  /** A waiting step is not to be run, and so are those behind it. */
  #lose(entry: StepEntry, cause: Refusal): void {
    const { sequence } = entry;
    const position = sequence.waiting.indexOf(entry);
    assert(position !== -1, 'a step that does not run waits in its sequence');
    const behind = sequence.takeBehind(position + 1);
    sequence.waiting.splice(position, 1);
    this.#drop(entry, cause);
    this.#refuseBroken(sequence, behind, cause);
    if (sequence.isClosed) this.#close(sequence);
  }

  #refuseBroken(sequence: Sequence, entries: readonly StepEntry[], cause: Refusal): void {
    if (entries.length === 0) return;
    const refusal = brokenRefusal(sequence.id, cause, this.#policy);
    for (const entry of entries) this.#drop(entry, refusal);
  }

  #drop(entry: StepEntry, refusal: Refusal): void {
    this.#waiting.remove(entry);
    this.#steps.delete(entry.step);
    this.#refuse(entry.step, refusal);
  }

  /** A step was lost: it takes no further one; what waits before it and runs still does. */
  #close(sequence: Sequence): void {
    this.#detach(sequence, 'failed');
    if (!sequence.isBusy) this.#end(sequence);
  }

  #detach(sequence: Sequence, reason: EndReason): void {
    sequence.isClosed = true;
    sequence.endReason = reason;
    const { open } = sequence.owner;
    if (open.get(sequence.id) === sequence) open.delete(sequence.id);
  }

  #end(sequence: Sequence): void {
    if (sequence.hasBegun) {
      this.#actions.push({ kind: 'forget', sequence: sequence.number, reason: sequence.endReason });
    }
    if (!this.#slots.remove(sequence)) return;
    for (let next = this.#slots.fillNext(); next !== undefined; next = this.#slots.fillNext()) {
      for (const entry of next.waiting) this.#waiting.endSlotWait(entry);
      this.#runNext(next);
    }
  }

  /** Slots go from owners that have more than their share to those that have waited for theirs. */
  #reclaim(nowMs: number): void {
    for (let taken = this.#slots.takeToReclaim(nowMs); taken; taken = this.#slots.takeToReclaim(nowMs)) {
      this.#takeSlot(taken);
    }
  }

  #reclaimIdle(name: string): void {
    const owner = this.#slots.owners.take(name);
    const idle = owner && this.#slots.takeIdle(owner);
    if (idle !== undefined) this.#takeSlot(idle);
  }

  /** The sequence ends; a step that runs is still answered. */
  #takeSlot(sequence: Sequence): void {
    const refusal = reclaimedRefusal(sequence.id, this.#policy);
    for (const entry of sequence.waiting.splice(0)) this.#drop(entry, refusal);
    this.#detach(sequence, 'reclaimed');
    if (sequence.running === undefined) this.#end(sequence);
  }

  #expire(nowMs: number): void {
    for (let late = this.#waiting.takeExpired(nowMs); late !== undefined; late = this.#waiting.takeExpired(nowMs)) {
      if (!late.sequence.hasSlot && late.slotLimitAt <= nowMs)
        this.#giveUpSlot(late.sequence, this.#slotWaitOver(late));
      else this.#lose(late, expiredStepRefusal);
    }
    for (const sequence of this.#slots.idle) {
      if (sequence.idleSince + this.#policy.idleMsMax > nowMs) break;
      this.#detach(sequence, 'idle');
      this.#end(sequence);
    }
  }

  #slotWaitOver({ isOwnSlotLimit }: StepEntry): Refusal {
    return isOwnSlotLimit ? slotTimeoutRefusal : slotWaitRefusal(this.#policy);
  }

  /** The sequence waits for a slot no longer; all of it goes. */
  #giveUpSlot(sequence: Sequence, refusal: Refusal): void {
    for (const entry of sequence.waiting.splice(0)) this.#drop(entry, refusal);
    this.#close(sequence);
  }

  #closeAll(): void {
    // Those without a slot first: they are not to get the slots of the others.
    for (const sequence of [...this.#slots.backlog, ...this.#slots.live]) {
      const refusal = unloadedRefusal(sequence.id, this.#policy);
      for (const entry of sequence.waiting.splice(0)) this.#drop(entry, refusal);
      this.#detach(sequence, 'unloaded');
      const { running } = sequence;
      if (running === undefined) this.#end(sequence);
      else this.#actions.push({ kind: 'cancel-run', step: running.step, reason: 'cancelled' });
    }
  }

  #refuse(step: StepId, { code, message }: Refusal): void {
    this.#actions.push({ kind: 'refuse', step, code, message });
  }

  #tellClosed(): void {
    if (this.#closing !== 'yes' || this.#slots.live.size > 0 || this.#slots.backlog.size > 0) return;
    this.#closing = 'told';
    this.#actions.push({ kind: 'closed' });
  }

  #askToWake(nowMs: number): void {
    const [longestIdle] = this.#slots.idle;
    const idleAt =
      longestIdle === undefined ? Number.POSITIVE_INFINITY : longestIdle.idleSince + this.#policy.idleMsMax;
    const wakeAt = this.#wakeUp.takeTime(Math.min(idleAt, this.#waiting.soonestAt, this.#slots.reclaimAt), nowMs);
    if (wakeAt !== undefined) this.#actions.push({ kind: 'wake-at', at: wakeAt });
  }
}
