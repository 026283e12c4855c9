/**
 * Whether an arriving step may run or wait, and which waiting ones are displaced for it when the limits are reached.
 */
import type { Refusal } from '../scheduler/requests/refusal.ts';
import type { Sequence } from './sequence.ts';
import type { SequencePolicy } from './sequence-policy.ts';
import {
  backlogFullRefusal,
  expiredStepRefusal,
  missingStartRefusal,
  overShareRefusal,
  unloadingRefusal,
  waitingFullRefusal,
} from './sequence-refusals.ts';
import type { SequenceSteps } from './sequence-steps.ts';
import type { ArrivedStep } from './sequencer-events.ts';
import { StepDisplacement } from './step-displacement.ts';

export class StepAdmission {
  readonly #policy: SequencePolicy;
  readonly #steps: SequenceSteps;

  constructor(policy: SequencePolicy, steps: SequenceSteps) {
    this.#policy = policy;
    this.#steps = steps;
  }

  /** Why the step is refused; undefined: it is admitted, and others were displaced if needed. `known`: its sequence. */
  refusalOf(arrived: ArrivedStep, known: Sequence | undefined, isClosing: boolean, nowMs: number): Refusal | undefined {
    if (known === undefined && !arrived.isStart) return missingStartRefusal(arrived.id, this.#policy);
    if (arrived.isStart && isClosing) return unloadingRefusal(this.#policy);
    if (arrived.deadlineAt <= nowMs) return expiredStepRefusal;
    const canRunAtOnce = known === undefined ? this.#steps.slots.hasFree : known.hasSlot && !known.isBusy;
    if (canRunAtOnce) return undefined;
    if (known === undefined && !this.#makeBacklogRoom(arrived)) return backlogFullRefusal(this.#policy);
    const { waitingStepsMax, waitingBytesMax } = this.#policy;
    const { waiting } = this.#steps;
    const hasRoom = waiting.count < waitingStepsMax && waiting.bytes + arrived.bytes <= waitingBytesMax;
    return hasRoom || this.#makeWaitingRoom(arrived) ? undefined : waitingFullRefusal(this.#policy);
  }

  /** Whether one more sequence may wait for a slot; the youngest one of the owner with the most is displaced. */
  #makeBacklogRoom({ owner }: ArrivedStep): boolean {
    const { owners, backlog } = this.#steps.slots;
    if (backlog.size < this.#policy.backlogSequencesMax) return true;
    const own = owners.take(owner)?.backlog.size ?? 0;
    const most = owners.longestBacklog();
    if (most === undefined || most.backlog.size <= own + 1) return false;
    const youngest = [...most.backlog].at(-1) as Sequence;
    this.#steps.loseWaiting(youngest, overShareRefusal(this.#policy));
    this.#steps.close(youngest);
    return true;
  }

  /** Whether one more step may wait; steps of an owner that has more are displaced. */
  #makeWaitingRoom({ owner, bytes }: ArrivedStep): boolean {
    const { waitingStepsMax, waitingBytesMax } = this.#policy;
    const { waiting, slots, entries } = this.#steps;
    const displacement = new StepDisplacement(slots.owners, entries);
    for (;;) {
      const areStepsFull = waiting.count >= waitingStepsMax;
      if (!areStepsFull && waiting.bytes + bytes <= waitingBytesMax) return true;
      const leaving = areStepsFull
        ? displacement.takeNext(owner, 'waitingSteps', 1)
        : displacement.takeNext(owner, 'waitingBytes', bytes);
      if (leaving === undefined) return false;
      this.#steps.lose(leaving, overShareRefusal(this.#policy));
    }
  }
}
