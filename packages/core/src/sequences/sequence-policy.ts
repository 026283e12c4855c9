import { assert } from '../assert.ts';

/** The limits of one model's sequences: the compiled form of `sequence_batching`. */
export interface SequencePolicy {
  /** Name for messages. */
  readonly modelName: string;
  /** Live sequences at the same time. */
  readonly slotsMax: number;
  /** Sequences that may wait for a slot. */
  readonly backlogSequencesMax: number;
  /** A sequence that is idle for this long is ended. */
  readonly idleMsMax: number;
  /** A sequence that has waited this long for a slot is refused; Infinity: it waits as long as its steps allow. */
  readonly slotWaitMsMax: number;
  /** Waiting steps of all sequences together. */
  readonly waitingStepsMax: number;
  readonly waitingBytesMax: number;
}

export function checkSequencePolicy(policy: SequencePolicy): SequencePolicy {
  assert(policy.slotsMax >= 1, 'slotsMax is at least 1');
  assert(policy.idleMsMax > 0, 'idleMsMax is above 0');
  assert(policy.slotWaitMsMax > 0, 'slotWaitMsMax is above 0');
  assert(
    policy.waitingStepsMax >= 1 && policy.waitingBytesMax >= 1,
    'waitingStepsMax and waitingBytesMax are at least 1',
  );
  return policy;
}

/**
 * A sequence that has waited this long, while its owner has less than its share of the slots, gets one from an owner
 * that has more: as long as a sequence may be idle, so that an abandoned one has a chance to end by itself.
 */
export function reclaimMsOf({ idleMsMax, slotWaitMsMax }: SequencePolicy): number {
  return Math.min(idleMsMax, slotWaitMsMax / 2);
}
