/** Refuses inputs that the model of a stream does not take, before they have a place in the stream. */
import { InferenceError, type StreamPayload } from '@millrace/protocol';
import type { StreamPin } from './stream-models.ts';

/** Undefined: it may be accepted. What only the run of the model can tell is not known here. */
export function inputRefusal(
  pin: StreamPin | undefined,
  sequence: number,
  payload: StreamPayload,
): InferenceError | undefined {
  if (pin === undefined || payload.kind === 'none') return undefined;
  try {
    pin.check(pin.model.inputsFrom(payload, undefined), sequence);
    return undefined;
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    const advice = `input ${sequence} was not accepted, and the stream goes on: send it corrected, under the same number`;
    return new InferenceError(error.code, `${error.message}; ${advice}`);
  }
}
