/** The states of a model's sequences between two steps, and how much of them is whose. */
import type { SequenceNumber } from '@millrace/core';
import { type SequenceState, stateBytesOf } from './step-tensors.ts';

interface KeptState {
  readonly owner: string;
  readonly state: SequenceState;
  readonly bytes: number;
}

export class SequenceStates {
  readonly #states = new Map<SequenceNumber, KeptState>();
  readonly #bytesByOwner = new Map<string, number>();
  bytes = 0;

  mustGet(sequence: SequenceNumber): SequenceState {
    const kept = this.#states.get(sequence);
    if (kept === undefined) throw new Error(`sequence ${sequence} goes on without a state`);
    return kept.state;
  }

  /** All of them together, with a state of so many bytes in the place of what the sequence has now. */
  bytesWith(sequence: SequenceNumber, bytes: number): number {
    return this.bytes - this.#bytesOf(sequence) + bytes;
  }

  keep(sequence: SequenceNumber, owner: string, state: SequenceState): void {
    this.forget(sequence);
    const bytes = stateBytesOf(state);
    this.#states.set(sequence, { owner, state, bytes });
    this.#add(owner, bytes);
  }

  forget(sequence: SequenceNumber): void {
    const kept = this.#states.get(sequence);
    if (kept === undefined) return;
    this.#states.delete(sequence);
    this.#add(kept.owner, -kept.bytes);
  }

  /** The owner that has the most, if that is more than this one would have. */
  takeLargerOwner(owner: string, sequence: SequenceNumber, bytes: number): string | undefined {
    let largest: string | undefined;
    let most = (this.#bytesByOwner.get(owner) ?? 0) - this.#bytesOf(sequence) + bytes;
    for (const [name, held] of this.#bytesByOwner) {
      if (name === owner || held <= most) continue;
      largest = name;
      most = held;
    }
    return largest;
  }

  #bytesOf(sequence: SequenceNumber): number {
    return this.#states.get(sequence)?.bytes ?? 0;
  }

  #add(owner: string, bytes: number): void {
    this.bytes += bytes;
    const held = (this.#bytesByOwner.get(owner) ?? 0) + bytes;
    // One whose states are all empty has nothing to lose.
    if (held === 0) this.#bytesByOwner.delete(owner);
    else this.#bytesByOwner.set(owner, held);
  }
}
