import { assert } from '../assert.ts';

/** How the sequences of one model are bounded. What an operator writes as `sequence_batching` ends here. */
export interface SequencePolicy {
  /** For messages. */
  readonly modelName: string;
  /** Sequences that live at the same time. */
  readonly slotsMax: number;
  /** Sequences that may wait for a slot. */
  readonly backlogSequencesMax: number;
  /** A sequence that has nothing to do for so long is ended. */
  readonly idleMsMax: number;
  /** A sequence that has waited so long for a slot is refused; Infinity: it waits as long as its steps allow. */
  readonly slotWaitMsMax: number;
  /** Steps of all sequences together that may wait for their turn. */
  readonly waitingStepsMax: number;
  readonly waitingBytesMax: number;
}

export function checkSequencePolicy(policy: SequencePolicy): SequencePolicy {
  assert(policy.slotsMax >= 1, 'at least one sequence can live');
  assert(policy.idleMsMax > 0, 'a sequence may be idle for a while');
  assert(policy.slotWaitMsMax > 0, 'a sequence may wait for a slot for a while');
  assert(policy.waitingStepsMax >= 1 && policy.waitingBytesMax >= 1, 'steps may wait');
  return policy;
}

/**
 * A sequence that has waited so long, while its owner has less than its share of the slots, gets one from an owner that
 * has more: as long as a sequence may be idle, so that one that is done with has a chance to end by itself.
 */
export function reclaimMsOf({ idleMsMax, slotWaitMsMax }: SequencePolicy): number {
  return Math.min(idleMsMax, slotWaitMsMax / 2);
}
