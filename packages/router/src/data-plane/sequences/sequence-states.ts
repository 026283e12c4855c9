/** The states of a model's sequences between two steps, with the bytes that each owner holds. */
import type { SequenceNumber } from '@millrace/core';
import { copyOfText } from '@millrace/protocol';
import { type SequenceState, stateBytesOf } from './step-tensors.ts';

interface OwnerBytes {
  readonly name: string;
  bytes: number;
  sequences: number;
}

interface KeptState {
  readonly owner: OwnerBytes;
  readonly state: SequenceState;
  readonly bytes: number;
}

export class SequenceStates {
  readonly #states = new Map<SequenceNumber, KeptState>();
  readonly #owners = new Map<string, OwnerBytes>();
  bytes = 0;

  mustGet(sequence: SequenceNumber): SequenceState {
    const kept = this.#states.get(sequence);
    if (kept === undefined) throw new Error(`sequence ${sequence} has no state to continue with`);
    return kept.state;
  }

  /** The bytes of all states if the sequence's state had this many. */
  bytesWith(sequence: SequenceNumber, bytes: number): number {
    return this.bytes - this.#bytesOf(sequence) + bytes;
  }

  keep(sequence: SequenceNumber, owner: string, state: SequenceState): void {
    const before = this.#states.get(sequence);
    const bytes = stateBytesOf(state);
    const holder = before?.owner ?? this.#ownerOf(owner);
    if (before === undefined) holder.sequences += 1;
    this.#states.set(sequence, { owner: holder, state, bytes });
    this.#add(holder, bytes - (before?.bytes ?? 0));
  }

  forget(sequence: SequenceNumber): void {
    const kept = this.#states.get(sequence);
    if (kept === undefined) return;
    this.#states.delete(sequence);
    this.#add(kept.owner, -kept.bytes);
    kept.owner.sequences -= 1;
    if (kept.owner.sequences === 0) this.#owners.delete(kept.owner.name);
  }

  /** The owner that holds the most bytes, if that is more than the given one would hold. */
  takeLargerOwner(owner: string, sequence: SequenceNumber, bytes: number): string | undefined {
    let largest: string | undefined;
    let most = (this.#owners.get(owner)?.bytes ?? 0) - this.#bytesOf(sequence) + bytes;
    for (const holder of this.#owners.values()) {
      if (holder.name === owner || holder.bytes <= most) continue;
      largest = holder.name;
      most = holder.bytes;
    }
    return largest;
  }

  #bytesOf(sequence: SequenceNumber): number {
    return this.#states.get(sequence)?.bytes ?? 0;
  }

  #ownerOf(name: string): OwnerBytes {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      // A copy, because it outlives its request: a slice of the string would keep the head of the request in memory.
      owner = { name: copyOfText(name), bytes: 0, sequences: 0 };
      this.#owners.set(owner.name, owner);
    }
    return owner;
  }

  #add(owner: OwnerBytes, bytes: number): void {
    owner.bytes += bytes;
    this.bytes += bytes;
  }
}
