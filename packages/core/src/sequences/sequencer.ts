/**
 * Decides for one model which step of which sequence runs when. A sequence has one of a limited number of slots
 * from its start to its end; further ones wait, and owners take turns for slots. Pure, like the scheduler: a step to
 * run is an ordinary request there. Admission is decided in step-admission.ts, what happens to a step afterwards in
 * sequence-steps.ts.
 */
import { assert } from '../assert.ts';
import type { Refusal } from '../scheduler/requests/refusal.ts';
import { WakeUp } from '../scheduler/wake-up.ts';
import type { Sequence, StepEntry } from './sequence.ts';
import { checkSequencePolicy, type SequencePolicy } from './sequence-policy.ts';
import {
  cancelledStepRefusal,
  expiredStepRefusal,
  reclaimedRefusal,
  slotTimeoutRefusal,
  slotWaitRefusal,
  unloadedRefusal,
} from './sequence-refusals.ts';
import { SequenceSteps } from './sequence-steps.ts';
import type { ArrivedStep, SequencerAction, SequencerEvent, StepId } from './sequencer-events.ts';
import { StepAdmission } from './step-admission.ts';

export interface SequencerCounts {
  readonly liveSequences: number;
  readonly backlogSequences: number;
  readonly waitingSteps: number;
  readonly waitingBytes: number;
}

export class Sequencer {
  readonly #policy: SequencePolicy;
  readonly #steps: SequenceSteps;
  readonly #admission: StepAdmission;
  readonly #wakeUp = new WakeUp();
  #closing: 'no' | 'yes' | 'told' = 'no';

  constructor(policy: SequencePolicy) {
    this.#policy = checkSequencePolicy(policy);
    this.#steps = new SequenceSteps(policy);
    this.#admission = new StepAdmission(policy, this.#steps);
  }

  /** Records what happened; the resulting actions are in `takeActions`. */
  handle(event: SequencerEvent, nowMs: number): void {
    // First, so that expired sequences and steps have ended whether or not a timer has fired.
    this.#expire(nowMs);
    switch (event.kind) {
      case 'step-arrived':
        this.#arrived(event.step, nowMs);
        break;
      case 'step-answered':
        this.#steps.goOn(this.#steps.endRun(event.step), nowMs);
        break;
      case 'step-failed':
        this.#failed(event.step, event, nowMs);
        break;
      case 'step-cancelled':
        this.#cancelled(event.step, event.reason);
        break;
      case 'begun-elsewhere':
        this.#begunElsewhere(event.owner, event.id);
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
    return this.#steps.takeActions();
  }

  /** Whether a step of this owner and id would continue a sequence. */
  holds(owner: string, id: bigint | string): boolean {
    return this.#steps.slots.owners.take(owner)?.open.has(id) === true;
  }

  /** Whether the step waits until another sequence ends. */
  waitsForSlot(step: StepId): boolean {
    return this.#steps.entries.get(step)?.sequence.hasSlot === false;
  }

  counts(): SequencerCounts {
    const { slots, waiting } = this.#steps;
    return {
      liveSequences: slots.live.size,
      backlogSequences: slots.backlog.size,
      waitingSteps: waiting.count,
      waitingBytes: waiting.bytes,
    };
  }

  #arrived(arrived: ArrivedStep, nowMs: number): void {
    const steps = this.#steps;
    assert(!steps.entries.has(arrived.step), 'a step id is used once at a time');
    const known = steps.slots.owners.take(arrived.owner)?.open.get(arrived.id);
    const refusal = this.#admission.refusalOf(arrived, known, this.#closing !== 'no', nowMs);
    if (refusal === undefined) {
      steps.add(arrived, known ?? steps.begin(arrived, nowMs), nowMs);
      return;
    }
    steps.refuse(arrived.step, refusal);
    // Steps after a refused one would run without it.
    if (known !== undefined) steps.close(known);
  }

  #begunElsewhere(owner: string, id: bigint | string): void {
    const steps = this.#steps;
    const known = steps.slots.owners.take(owner)?.open.get(id);
    if (known === undefined) return;
    steps.detach(known, 'ended');
    if (!known.isBusy) steps.end(known);
  }

  #failed(step: StepId, cause: Refusal, nowMs: number): void {
    const sequence = this.#steps.endRun(step);
    this.#steps.loseBehindRun(sequence, cause);
    // A start that waits behind continues in the same slot; otherwise the sequence is over.
    if (sequence.waiting.length === 0 && sequence.endReason !== 'unloaded') this.#steps.detach(sequence, 'failed');
    this.#steps.goOn(sequence, nowMs);
  }

  #cancelled(step: StepId, reason: 'cancelled' | 'deadline-exceeded'): void {
    const entry = this.#steps.entries.get(step);
    if (entry === undefined) return;
    if (entry.sequence.running === entry) this.#steps.act({ kind: 'cancel-run', step, reason });
    else this.#steps.lose(entry, reason === 'cancelled' ? cancelledStepRefusal : expiredStepRefusal);
  }

  /** Slots go from owners that have more than their share to those that have waited for theirs. */
  #reclaim(nowMs: number): void {
    const { slots } = this.#steps;
    for (let taken = slots.takeToReclaim(nowMs); taken; taken = slots.takeToReclaim(nowMs)) this.#takeSlot(taken);
  }

  #reclaimIdle(name: string): void {
    const { slots } = this.#steps;
    const owner = slots.owners.take(name);
    const idle = owner && slots.takeIdle(owner);
    if (idle !== undefined) this.#takeSlot(idle);
  }

  /** Ends the sequence; a running step is still answered. */
  #takeSlot(sequence: Sequence): void {
    this.#steps.loseWaiting(sequence, reclaimedRefusal(sequence.id, this.#policy));
    this.#steps.detach(sequence, 'reclaimed');
    if (sequence.running === undefined) this.#steps.end(sequence);
  }

  #expire(nowMs: number): void {
    const { waiting, slots } = this.#steps;
    for (let late = waiting.takeExpired(nowMs); late !== undefined; late = waiting.takeExpired(nowMs)) {
      if (late.sequence.hasSlot || late.slotLimitAt > nowMs) this.#steps.lose(late, expiredStepRefusal);
      else this.#giveUpSlot(late);
    }
    for (const sequence of slots.idle) {
      if (sequence.idleSince + this.#policy.idleMsMax > nowMs) break;
      this.#steps.detach(sequence, 'idle');
      this.#steps.end(sequence);
    }
  }

  /** The sequence of the step reached its limit of waiting for a slot: all its steps are refused. */
  #giveUpSlot({ sequence, isOwnSlotLimit }: StepEntry): void {
    this.#steps.loseWaiting(sequence, isOwnSlotLimit ? slotTimeoutRefusal : slotWaitRefusal(this.#policy));
    this.#steps.close(sequence);
  }

  #closeAll(): void {
    const { slots } = this.#steps;
    // Those without a slot first, so that they do not get the slots of the others.
    for (const sequence of [...slots.backlog, ...slots.live]) {
      this.#steps.loseWaiting(sequence, unloadedRefusal(sequence.id, this.#policy));
      this.#steps.detach(sequence, 'unloaded');
      const { running } = sequence;
      if (running === undefined) this.#steps.end(sequence);
      else this.#steps.act({ kind: 'cancel-run', step: running.step, reason: 'cancelled' });
    }
  }

  #tellClosed(): void {
    const { live, backlog } = this.#steps.slots;
    if (this.#closing !== 'yes' || live.size > 0 || backlog.size > 0) return;
    this.#closing = 'told';
    this.#steps.act({ kind: 'closed' });
  }

  #askToWake(nowMs: number): void {
    const { slots, waiting } = this.#steps;
    const [longestIdle] = slots.idle;
    const idleAt =
      longestIdle === undefined ? Number.POSITIVE_INFINITY : longestIdle.idleSince + this.#policy.idleMsMax;
    const wakeAt = this.#wakeUp.takeTime(Math.min(idleAt, waiting.soonestAt, slots.reclaimAt), nowMs);
    if (wakeAt !== undefined) this.#steps.act({ kind: 'wake-at', at: wakeAt });
  }
}
