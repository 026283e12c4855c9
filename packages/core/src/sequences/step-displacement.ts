/** Which waiting steps are displaced by those of an owner that has less: the youngest of the owner with the most. */
import type { IdMap } from '@millrace/protocol';
import type { StepEntry } from './sequence.ts';
import type { SequenceOwner, SequenceOwners } from './sequence-owners.ts';

export class StepDisplacement {
  readonly #owners: SequenceOwners;
  readonly #steps: Pick<IdMap<StepEntry>, 'get' | 'values'>;
  /** Steps of owners that lose some, youngest last: collected once, however many are displaced. */
  readonly #waiting = new Map<SequenceOwner, StepEntry[]>();

  constructor(owners: SequenceOwners, steps: Pick<IdMap<StepEntry>, 'get' | 'values'>) {
    this.#owners = owners;
    this.#steps = steps;
  }

  /** The step to displace next; undefined: no owner has more than this one would have. */
  takeNext(owner: string, what: 'waitingSteps' | 'waitingBytes', needed: number): StepEntry | undefined {
    const own = this.#owners.take(owner)?.[what] ?? 0;
    const most = this.#owners.mostOf(what);
    if (most === undefined || most[what] <= own + needed) return undefined;
    const waiting = this.#waiting.get(most) ?? this.#gather(most);
    for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
      // It may have been dropped with an earlier one, or got the slot of a sequence that ended that way.
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
