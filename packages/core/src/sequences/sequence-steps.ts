/**
 * The steps of all sequences of a model: each runs in turn or is refused, and a sequence ends with its last step or
 * with one that is lost. Owns the resulting actions; the sequencer decides which event leads to what.
 */
import { IdMap } from '@millrace/protocol';
import { assert } from '../assert.ts';
import type { Refusal } from '../scheduler/requests/refusal.ts';
import { Sequence, StepEntry } from './sequence.ts';
import type { SequencePolicy } from './sequence-policy.ts';
import { brokenRefusal } from './sequence-refusals.ts';
import { SequenceSlots } from './sequence-slots.ts';
import type { ArrivedStep, EndReason, SequencerAction, StepId } from './sequencer-events.ts';
import { WaitingSteps } from './waiting-steps.ts';

export class SequenceSteps {
  readonly slots: SequenceSlots;
  readonly waiting = new WaitingSteps();
  readonly #policy: SequencePolicy;
  readonly #steps = new IdMap<StepEntry>();
  #actions: SequencerAction[] = [];
  #sequenceCount = 0;
  #arrivalCount = 0;

  constructor(policy: SequencePolicy) {
    this.#policy = policy;
    this.slots = new SequenceSlots(policy);
  }

  /** Waiting and running steps. */
  get entries(): Pick<IdMap<StepEntry>, 'get' | 'has' | 'values'> {
    return this.#steps;
  }

  act(action: SequencerAction): void {
    this.#actions.push(action);
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly SequencerAction[] {
    const taken = this.#actions;
    this.#actions = [];
    return taken;
  }

  begin({ owner, id }: ArrivedStep, nowMs: number): Sequence {
    this.#sequenceCount += 1;
    const sequence = new Sequence(this.#sequenceCount, this.slots.owners.of(owner), id, nowMs);
    this.slots.add(sequence);
    return sequence;
  }

  /** The step waits for its turn, which may be now. */
  add(arrived: ArrivedStep, sequence: Sequence, nowMs: number): void {
    this.#arrivalCount += 1;
    const entry = new StepEntry(arrived, sequence, this.#arrivalCount, nowMs, this.#policy.slotWaitMsMax);
    this.#steps.set(entry.step, entry);
    sequence.waiting.push(entry);
    this.waiting.add(entry);
    this.slots.idle.delete(sequence);
    if (arrived.isEnd) this.detach(sequence, 'ended');
    if (sequence.hasSlot) this.#runNext(sequence);
  }

  /** The running step has been answered or has failed: returns its sequence. */
  endRun(step: StepId): Sequence {
    const entry = this.#steps.get(step);
    assert(entry !== undefined && entry.sequence.running === entry, 'only a step that runs is answered or fails');
    this.#steps.delete(step);
    entry.sequence.running = undefined;
    return entry.sequence;
  }

  /** What follows a step that ran: the next step, the end, or waiting for more. */
  goOn(sequence: Sequence, nowMs: number): void {
    if (sequence.waiting.length > 0) this.#runNext(sequence);
    else if (sequence.isClosed) this.end(sequence);
    else {
      sequence.idleSince = nowMs;
      this.slots.idle.add(sequence);
    }
  }

  /** Drops a waiting step, and with it those behind it. */
  lose(entry: StepEntry, cause: Refusal): void {
    const { sequence } = entry;
    const position = sequence.waiting.indexOf(entry);
    assert(position !== -1, 'a step that does not run waits in its sequence');
    const behind = sequence.takeBehind(position + 1);
    sequence.waiting.splice(position, 1);
    this.#drop(entry, cause);
    this.#refuseBroken(sequence, behind, cause);
    if (sequence.isClosed) this.close(sequence);
  }

  /** The running step of the sequence was lost: those behind it, up to the next start, are not run. */
  loseBehindRun(sequence: Sequence, cause: Refusal): void {
    this.#refuseBroken(sequence, sequence.takeBehind(0), cause);
  }

  /** Refuses every step of the sequence that waits. */
  loseWaiting(sequence: Sequence, refusal: Refusal): void {
    for (const entry of sequence.waiting.splice(0)) this.#drop(entry, refusal);
  }

  refuse(step: StepId, { code, message }: Refusal): void {
    this.#actions.push({ kind: 'refuse', step, code, message });
  }

  /** A step was lost: the sequence accepts no further one; earlier steps that wait or run still do. */
  close(sequence: Sequence): void {
    this.detach(sequence, 'failed');
    if (!sequence.isBusy) this.end(sequence);
  }

  /** The sequence accepts no further step: its id is free for another one. */
  detach(sequence: Sequence, reason: EndReason): void {
    sequence.isClosed = true;
    sequence.endReason = reason;
    const { open } = sequence.owner;
    if (open.get(sequence.id) === sequence) open.delete(sequence.id);
  }

  /** Nothing of the sequence waits or runs: its slot goes to the next in line. */
  end(sequence: Sequence): void {
    if (sequence.hasBegun) {
      this.#actions.push({ kind: 'forget', sequence: sequence.number, reason: sequence.endReason });
    }
    if (!this.slots.remove(sequence)) return;
    for (let next = this.slots.fillNext(); next !== undefined; next = this.slots.fillNext()) {
      for (const entry of next.waiting) this.waiting.endSlotWait(entry);
      this.#runNext(next);
    }
  }

  #runNext(sequence: Sequence): void {
    if (sequence.running !== undefined) return;
    const entry = sequence.waiting.shift();
    if (entry === undefined) return;
    this.waiting.remove(entry);
    sequence.running = entry;
    sequence.hasBegun = true;
    this.#actions.push({ kind: 'run', step: entry.step, sequence: sequence.number, isStart: entry.isStart });
  }

  #refuseBroken(sequence: Sequence, entries: readonly StepEntry[], cause: Refusal): void {
    if (entries.length === 0) return;
    const refusal = brokenRefusal(sequence.id, cause, this.#policy);
    for (const entry of entries) this.#drop(entry, refusal);
  }

  #drop(entry: StepEntry, refusal: Refusal): void {
    this.waiting.remove(entry);
    this.#steps.delete(entry.step);
    this.refuse(entry.step, refusal);
  }
}
