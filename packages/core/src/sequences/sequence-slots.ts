/** Which sequences have a slot, which wait for one, and which owner has to give one up. */
import type { Sequence } from './sequence.ts';
import { type SequenceOwner, SequenceOwners } from './sequence-owners.ts';
import { reclaimMsOf, type SequencePolicy } from './sequence-policy.ts';

export class SequenceSlots {
  readonly owners = new SequenceOwners();
  readonly live = new Set<Sequence>();
  /** In order of arrival. */
  readonly backlog = new Set<Sequence>();
  /** Live sequences without work, the longest idle first: all have the same idle limit. */
  readonly idle = new Set<Sequence>();
  readonly #slotsMax: number;
  readonly #reclaimMs: number;
  /** A sequence that gives up its slot once its last step is answered: until then no further one has to. */
  #leaving: Sequence | undefined;

  constructor(policy: SequencePolicy) {
    this.#slotsMax = policy.slotsMax;
    this.#reclaimMs = reclaimMsOf(policy);
  }

  get hasFree(): boolean {
    return this.live.size < this.#slotsMax;
  }

  add(sequence: Sequence): void {
    const { owner } = sequence;
    owner.open.set(sequence.id, sequence);
    if (this.hasFree) this.#give(sequence);
    else {
      this.backlog.add(sequence);
      owner.backlog.add(sequence);
    }
  }

  /** True: it had a slot, which is free now. */
  remove(sequence: Sequence): boolean {
    const { owner } = sequence;
    this.idle.delete(sequence);
    this.backlog.delete(sequence);
    owner.backlog.delete(sequence);
    if (this.#leaving === sequence) this.#leaving = undefined;
    const hadSlot = this.live.delete(sequence);
    if (hadSlot) owner.liveSequences -= 1;
    this.owners.forgetIfEmpty(owner);
    return hadSlot;
  }

  /** Gives a free slot to the next in line. */
  fillNext(): Sequence | undefined {
    const next = this.hasFree ? this.owners.takeNextInLine() : undefined;
    if (next === undefined) return undefined;
    this.backlog.delete(next);
    next.owner.backlog.delete(next);
    this.#give(next);
    return next;
  }

  #give(sequence: Sequence): void {
    sequence.hasSlot = true;
    sequence.owner.liveSequences += 1;
    this.live.add(sequence);
  }

  /** When a slot is due to change its owner; Infinity: none, in the current state. */
  get reclaimAt(): number {
    if (this.backlog.size === 0 || this.#leaving !== undefined) return Number.POSITIVE_INFINITY;
    const waiter = this.owners.takeShortOfShare(this.#slotsMax);
    if (waiter === undefined || this.#takeVictim() === undefined) return Number.POSITIVE_INFINITY;
    return waiter.beganAt + this.#reclaimMs;
  }

  /** The sequence that has to give up its slot now. */
  takeToReclaim(nowMs: number): Sequence | undefined {
    if (this.reclaimAt > nowMs) return undefined;
    const victim = this.#takeVictim();
    if (victim?.running !== undefined) this.#leaving = victim;
    return victim;
  }

  /**
   * Of the owner with the most slots: the sequence idle for longest, or else the one that has had its slot for longest.
   */
  #takeVictim(): Sequence | undefined {
    const over = this.owners.takeOverShare(this.#slotsMax);
    if (over === undefined) return undefined;
    const idle = this.takeIdle(over);
    if (idle !== undefined) return idle;
    for (const sequence of this.live) if (sequence.owner === over && !sequence.isClosed) return sequence;
    return undefined;
  }

  /** The owner's sequence that was idle for longest. */
  takeIdle(owner: SequenceOwner): Sequence | undefined {
    for (const sequence of this.idle) if (sequence.owner === owner) return sequence;
    return undefined;
  }
}
