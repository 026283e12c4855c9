/**
 * The owners of sequences. Each owner has its own ids, and its sequences count against its share when there are too few
 * slots for all: an owner that took everything first must not keep the others out.
 */
import { copyOfText } from '@millrace/protocol';
import type { Sequence } from './sequence.ts';

export class SequenceOwner {
  readonly name: string;
  /** The sequence that takes the next step of an id. */
  readonly open = new Map<bigint | string, Sequence>();
  /** Sequences without a slot, in order of arrival. */
  readonly backlog = new Set<Sequence>();
  liveSequences = 0;
  waitingSteps = 0;
  waitingBytes = 0;

  constructor(name: string) {
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.liveSequences === 0 && this.backlog.size === 0;
  }
}

export class SequenceOwners {
  /** Owners with a live or waiting sequence. */
  readonly #owners = new Map<string, SequenceOwner>();

  get count(): number {
    return this.#owners.size;
  }

  take(name: string): SequenceOwner | undefined {
    return this.#owners.get(name);
  }

  of(name: string): SequenceOwner {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      // Kept for longer than its request: a view would keep the head of the request alive.
      owner = new SequenceOwner(copyOfText(name));
      this.#owners.set(owner.name, owner);
    }
    return owner;
  }

  forgetIfEmpty(owner: SequenceOwner): void {
    if (owner.isEmpty) this.#owners.delete(owner.name);
  }

  /** How many of this many slots each owner may have while others want them too. */
  shareOf(slotsMax: number): number {
    return Math.max(1, Math.floor(slotsMax / this.#owners.size));
  }

  /** The sequence that gets the next free slot: the oldest of the owner that has the fewest. */
  takeNextInLine(): Sequence | undefined {
    let next: Sequence | undefined;
    for (const owner of this.#owners.values()) {
      const [oldest] = owner.backlog;
      if (oldest !== undefined && (next === undefined || comesBefore(oldest, next))) next = oldest;
    }
    return next;
  }

  /** The longest waiting sequence of an owner that has less than its share. */
  takeShortOfShare(slotsMax: number): Sequence | undefined {
    // With a single owner nobody can have too much.
    if (this.#owners.size < 2) return undefined;
    const share = this.shareOf(slotsMax);
    let longest: Sequence | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.liveSequences >= share) continue;
      const [oldest] = owner.backlog;
      if (oldest !== undefined && (longest === undefined || oldest.number < longest.number)) longest = oldest;
    }
    return longest;
  }

  /** The owner with the most slots, if that is more than its share. */
  takeOverShare(slotsMax: number): SequenceOwner | undefined {
    const most = this.mostOf('liveSequences');
    return most !== undefined && most.liveSequences > this.shareOf(slotsMax) ? most : undefined;
  }

  /** The owner that has the most of something; of equals, the one that came first. */
  mostOf(what: 'liveSequences' | 'waitingSteps' | 'waitingBytes'): SequenceOwner | undefined {
    let most: SequenceOwner | undefined;
    for (const owner of this.#owners.values()) if (most === undefined || owner[what] > most[what]) most = owner;
    return most;
  }

  longestBacklog(): SequenceOwner | undefined {
    let most: SequenceOwner | undefined;
    for (const owner of this.#owners.values()) {
      if (most === undefined || owner.backlog.size > most.backlog.size) most = owner;
    }
    return most;
  }
}

function comesBefore(one: Sequence, other: Sequence): boolean {
  const fewer = one.owner.liveSequences - other.owner.liveSequences;
  return fewer !== 0 ? fewer < 0 : one.number < other.number;
}
