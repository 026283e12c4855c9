/** An output as bytes that are equal exactly if it is: whatever the dialect, everything but its sequence counts. */
import type { OutputFrame } from '@millrace/protocol';

export function outputBytes({ inputSequence, payload, endOfOutput }: OutputFrame): Buffer {
  if (payload.kind !== 'tensors') return Buffer.from(JSON.stringify({ inputSequence, endOfOutput, payload }));
  const heads = payload.tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape }));
  const head = Buffer.from(JSON.stringify({ inputSequence, endOfOutput, heads }));
  return Buffer.concat([head, ...payload.tensors.map(({ data }) => data)]);
}
