/** The scheduling parameters `sequence_id`, `sequence_start`, `sequence_end` and `priority`, with the same meaning in every protocol. */
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

/** The sequence parameters of a request; an id of 0 or an empty id is none. */
export interface WrittenStep {
  readonly id: bigint | string | undefined;
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Undefined: the request belongs to no sequence, whatever its flags. Throws `invalid-request` for an id that is too long. */
export function sequenceStepFrom({ id, isStart, isEnd }: WrittenStep): SequenceStep | undefined {
  if (id === undefined || id === 0n || id === '') return undefined;
  if (typeof id === 'string' && Buffer.byteLength(id) > sequenceIdBytesMax) {
    throw new InferenceError(
      'invalid-request',
      `parameter 'sequence_id' has ${Buffer.byteLength(id)} bytes, more than the ${sequenceIdBytesMax} allowed; shorten it`,
    );
  }
  return { id, isStart, isEnd };
}
