/**
 * Error messages of steps that are not run. They follow Triton's where it has one, because its clients match on them.
 */
import { quotedCharactersMax, shortened } from '@millrace/protocol';
import type { Refusal } from '../scheduler/requests/refusal.ts';
import type { SequencePolicy } from './sequence-policy.ts';

/** A text id may be as long as its caller likes. */
function shown(id: bigint | string): string {
  return shortened(String(id), quotedCharactersMax);
}

export function missingStartRefusal(id: bigint | string, { modelName }: SequencePolicy): Refusal {
  return {
    code: 'invalid-request',
    message:
      `inference request for sequence ${shown(id)} to model '${modelName}' must specify the START flag on the first request ` +
      'of the sequence',
  };
}

export function backlogFullRefusal({ modelName, slotsMax, backlogSequencesMax }: SequencePolicy): Refusal {
  return {
    code: 'model-full',
    message:
      `the backlog of sequences of model '${modelName}' is full (${backlogSequencesMax} wait for one of ${slotsMax} slots); ` +
      'retry after a pause',
  };
}

export function waitingFullRefusal({ modelName, waitingStepsMax, waitingBytesMax }: SequencePolicy): Refusal {
  return {
    code: 'model-full',
    message:
      `the queue of sequence steps of model '${modelName}' is full (at most ${waitingStepsMax} steps and ` +
      `${waitingBytesMax} bytes); wait for answers before sending more, and start the sequence anew`,
  };
}

/** For waiting steps and sequences that make room for an owner that has less. */
export function overShareRefusal({ modelName }: SequencePolicy): Refusal {
  return {
    code: 'caller-full',
    message:
      `too many sequences or steps of this caller wait for model '${modelName}' while others need the room; ` +
      'send fewer at a time, and start the sequence anew after a pause',
  };
}

/** For the steps of a sequence whose slot went to another owner. */
export function reclaimedRefusal(id: bigint | string, { modelName, slotsMax }: SequencePolicy): Refusal {
  return {
    code: 'caller-full',
    message:
      `sequence ${shown(id)} to model '${modelName}' has ended: its caller had more than its share of the ${slotsMax} slots ` +
      'while another one waited; keep fewer sequences open, and start it anew',
  };
}

export function slotWaitRefusal({ modelName, slotsMax, slotWaitMsMax }: SequencePolicy): Refusal {
  return {
    code: 'queue-timeout',
    message:
      `the sequence waited ${slotWaitMsMax} ms (millrace.sequence_slot_wait_ms_max) for one of the ${slotsMax} slots of ` +
      `model '${modelName}'; end sequences that are done, or retry after a pause`,
  };
}

/** For a wait limit that the caller set. */
export const slotTimeoutRefusal: Refusal = Object.freeze({
  code: 'queue-timeout',
  message: 'timeout of the corresponding sequence has been expired',
});

export const expiredStepRefusal: Refusal = Object.freeze({
  code: 'deadline-exceeded',
  message: 'the deadline passed while the step waited for its turn in the sequence; set a later deadline',
});

export const cancelledStepRefusal: Refusal = Object.freeze({
  code: 'cancelled',
  message: 'the caller cancelled the request',
});

/** For the steps after one that was lost. */
export function brokenRefusal(id: bigint | string, cause: Refusal, { modelName }: SequencePolicy): Refusal {
  // The deadline belonged to the other step, not to this one.
  const code = cause.code === 'deadline-exceeded' ? 'cancelled' : cause.code;
  return {
    code,
    message:
      `sequence ${shown(id)} to model '${modelName}' has ended because a step before this one was not answered ` +
      `(${cause.code}: ${cause.message}); start it anew`,
  };
}

export function unloadingRefusal({ modelName }: SequencePolicy): Refusal {
  return {
    code: 'model-not-ready',
    message: `model '${modelName}' is being unloaded and accepts no new sequence; retry after a pause`,
  };
}

export function unloadedRefusal(id: bigint | string, { modelName }: SequencePolicy): Refusal {
  return {
    code: 'model-not-ready',
    message: `sequence ${shown(id)} has ended because model '${modelName}' is being unloaded; start it anew after a pause`,
  };
}
