/**
 * The journal of one stream: one log, fenced by its epoch. Appends are committed in groups after a delay; what became
 * durable is told later still; an append may have an unknown outcome. It survives everything.
 */
import type { IdleSince, StreamEntry } from '@millrace/core';
import type { SimulationRandom } from '../world/random.ts';
import type { Timeline } from '../world/timeline.ts';
import type { SimulatedValue } from './reference-run.ts';

type Entry = StreamEntry<SimulatedValue>;

type JournalOperation =
  | { readonly kind: 'append'; readonly number: number; readonly entry: Entry }
  | { readonly kind: 'idle'; readonly idle: IdleSince | undefined }
  | { readonly kind: 'trim'; readonly to: number; readonly snapshot: readonly Entry[] };

export interface JournalOwner {
  onCommitted(number: number): void;
  onRefused(reason: 'full' | 'fenced' | 'unavailable', number: number): void;
}

export interface JournalParts {
  readonly timeline: Timeline;
  readonly random: SimulationRandom;
  readonly commitMsMax: number;
  readonly entriesMax: number;
  /** A planted bug: older owners may append. */
  readonly isUnfenced: boolean;
  /** An entry is durable under this number. */
  readonly onDurable: (entry: Entry, number: number) => void;
  readonly onTrim: (entries: readonly Entry[]) => void;
}

export class SimulatedJournal {
  readonly parts: JournalParts;
  epoch = 0;
  isRemoved: boolean = false;
  /** Its stream has ended: routers that start leave it alone. */
  isParked: boolean = false;
  base = 0;
  snapshot: readonly Entry[] = [];
  entries: Entry[] = [];
  idle: IdleSince | undefined;
  /** The owner of the stream has its share of the journal. */
  isScarce: boolean = false;
  /** The next group of the current owner has an unknown outcome. */
  isNextUnknown: boolean = false;

  constructor(parts: JournalParts) {
    this.parts = parts;
  }

  get last(): number {
    return this.base + this.entries.length;
  }

  takeOver(owner: JournalOwner): SimulatedLog {
    this.epoch += 1;
    return new SimulatedLog(this, this.epoch, owner);
  }

  /** Adds or drops; false: the log is full. */
  apply(operation: JournalOperation): boolean {
    if (operation.kind === 'idle') {
      this.idle = operation.idle;
      return true;
    }
    if (operation.kind === 'trim') {
      this.entries = this.entries.slice(operation.to - this.base);
      this.base = operation.to;
      this.snapshot = operation.snapshot;
      this.parts.onTrim([...this.snapshot, ...this.entries]);
      return true;
    }
    const size = this.snapshot.length + this.entries.length;
    if (size >= this.parts.entriesMax && operation.entry.kind !== 'ending') return false;
    this.entries.push(operation.entry);
    this.parts.onDurable(operation.entry, operation.number);
    return true;
  }
}

/** A log as one owner holds it. */
export class SimulatedLog {
  readonly #journal: SimulatedJournal;
  readonly #epoch: number;
  readonly #owner: JournalOwner;
  #queue: JournalOperation[] = [];
  #isCommitting: boolean = false;
  #isFull: boolean = false;
  /** The owner has not heard yet that the log is full. */
  #isRefusing: boolean = false;
  #isClosed: boolean = false;
  #toldAt = 0;

  constructor(journal: SimulatedJournal, epoch: number, owner: JournalOwner) {
    this.#journal = journal;
    this.#epoch = epoch;
    this.#owner = owner;
  }

  add(operation: JournalOperation): void {
    // What the owner appended before it heard of a refusal is refused as well; after it only the ending is taken.
    if (this.#isClosed || this.#isRefusing) return;
    if (this.#isFull && !(operation.kind === 'append' && operation.entry.kind === 'ending')) return;
    this.#queue.push(operation);
    if (this.#isCommitting) return;
    this.#isCommitting = true;
    const { timeline, random, commitMsMax } = this.#journal.parts;
    timeline.after(random.next() * commitMsMax, () => this.#commit());
  }

  /** The owner died: what is queued may still arrive, in order. */
  abandon(): void {
    const count = this.#journal.parts.random.integer(0, this.#queue.length);
    if (!this.#isClosed && this.#isOwner)
      for (const operation of this.#queue.slice(0, count)) this.#journal.apply(operation);
    this.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#queue = [];
  }

  get #isOwner(): boolean {
    const { epoch, isRemoved, parts } = this.#journal;
    return parts.isUnfenced || (epoch === this.#epoch && !isRemoved);
  }

  #commit(): void {
    this.#isCommitting = false;
    if (this.#isClosed) return;
    const group = this.#queue;
    this.#queue = [];
    const firstNumber = group.find((operation) => operation.kind === 'append')?.number ?? this.#journal.last + 1;
    if (!this.#isOwner) {
      this.#refuse('fenced', firstNumber);
    } else if (this.#journal.isNextUnknown) {
      this.#journal.isNextUnknown = false;
      const count = this.#journal.parts.random.integer(0, group.length);
      for (const operation of group.slice(0, count)) if (!this.#journal.apply(operation)) break;
      this.#refuse('unavailable', firstNumber);
    } else {
      this.#keep(group);
    }
  }

  #keep(group: readonly JournalOperation[]): void {
    for (const operation of group) {
      if (this.#journal.apply(operation)) continue;
      this.#isFull = true;
      this.#isRefusing = true;
      this.#queue = [];
      const { last } = this.#journal;
      this.#tell(() => this.#owner.onCommitted(last));
      this.#tell(() => {
        this.#isRefusing = false;
        this.#owner.onRefused('full', last + 1);
      });
      return;
    }
    const { last } = this.#journal;
    this.#tell(() => this.#owner.onCommitted(last));
  }

  #refuse(reason: 'fenced' | 'unavailable', number: number): void {
    this.close();
    this.#tell(() => this.#owner.onRefused(reason, number));
  }

  /** In order, some time later. */
  #tell(happen: () => void): void {
    const { timeline, random, commitMsMax } = this.#journal.parts;
    this.#toldAt = Math.max(this.#toldAt, timeline.nowMs + random.next() * commitMsMax);
    timeline.at(this.#toldAt, happen);
  }
}
