/** Whose waiting steps leave for those of an owner that has less: the youngest of the owner that has the most. */
import type { StepEntry } from './sequence.ts';
import type { SequenceOwner, SequenceOwners } from './sequence-owners.ts';
import type { StepId } from './sequencer-events.ts';

export class StepDisplacement {
  readonly #owners: SequenceOwners;
  readonly #steps: ReadonlyMap<StepId, StepEntry>;
  /** Of owners that had to give way, the youngest last: gathered once, however many have to leave. */
  readonly #waiting = new Map<SequenceOwner, StepEntry[]>();

  constructor(owners: SequenceOwners, steps: ReadonlyMap<StepId, StepEntry>) {
    this.#owners = owners;
    this.#steps = steps;
  }

  /** The step to lose next; undefined: nobody has more than the owner would have. */
  takeNext(owner: string, what: 'waitingSteps' | 'waitingBytes', needed: number): StepEntry | undefined {
    const own = this.#owners.take(owner)?.[what] ?? 0;
    const most = this.#owners.mostOf(what);
    if (most === undefined || most[what] <= own + needed) return undefined;
    const waiting = this.#waiting.get(most) ?? this.#gather(most);
    for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
      // It may have left with one before it, or got the slot of a sequence that ended so.
      if (this.#steps.get(entry.step) === entry && entry.sequence.running !== entry) return entry;
    }
    return undefined;
  }

  #gather(owner: SequenceOwner): StepEntry[] {
    const waiting: StepEntry[] = [];
    for (const entry of this.#steps.values()) if (entry.sequence.owner === owner) waiting.push(entry);
    this.#waiting.set(owner, waiting);
    return waiting;
  }
}
