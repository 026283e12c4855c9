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
  /** Steps of all sequences together that may wait for their turn. */
  readonly waitingStepsMax: number;
  readonly waitingBytesMax: number;
}

export function checkSequencePolicy(policy: SequencePolicy): SequencePolicy {
  assert(policy.slotsMax >= 1, 'at least one sequence can live');
  assert(policy.idleMsMax > 0, 'a sequence may be idle for a while');
  assert(policy.waitingStepsMax >= 1 && policy.waitingBytesMax >= 1, 'steps may wait');
  return policy;
}
