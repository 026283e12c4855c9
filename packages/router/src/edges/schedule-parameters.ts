/** Parameters that place a request among others, `sequence_id`, `sequence_start`, `sequence_end` and `priority`, as every protocol means them. */
import { InferenceError } from '@millrace/protocol';
import type { SequenceStep } from '../data-plane/infer.ts';

/** Of a sequence's id that is text, in UTF-8; Triton's limit too. */
const sequenceIdBytesMax = 128;

export const scheduleKeys: ReadonlySet<string> = new Set(['sequence_id', 'sequence_start', 'sequence_end', 'priority']);

export const sequenceIdMax = 2n ** 64n - 1n;

/** The id that a value means where numbers are JavaScript's; undefined when it cannot be one. */
export function takeSequenceId(value: unknown): bigint | string | undefined {
  if (typeof value === 'string') return value;
  const exact = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  return typeof exact === 'bigint' && exact >= 0n && exact <= sequenceIdMax ? exact : undefined;
}

/** What was written of a step; an id of 0 or of no letters is none. */
export interface WrittenStep {
  readonly id: bigint | string | undefined;
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Undefined: the request stands alone, whatever its flags say. Throws `invalid-request` for an id that is too long. */
export function sequenceStepFrom({ id, isStart, isEnd }: WrittenStep): SequenceStep | undefined {
  if (id === undefined || id === 0n || id === '') return undefined;
  if (typeof id === 'string' && Buffer.byteLength(id) > sequenceIdBytesMax) {
    throw new InferenceError(
      'invalid-request',
      `parameter 'sequence_id' has ${Buffer.byteLength(id)} bytes; it may have ${sequenceIdBytesMax}`,
    );
  }
  return { id, isStart, isEnd };
}
