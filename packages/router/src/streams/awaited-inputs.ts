/** Inputs that came in calls of their own, until they are durable: their callers wait for that. */
import type { StreamError } from '@millrace/core';
import { type CancelSignal, InferenceError } from '@millrace/protocol';
import { endedRefusal } from './stream-refusals.ts';

interface AwaitedInput {
  readonly sequence: number;
  readonly resolve: (accepted: number) => void;
  readonly reject: (error: InferenceError) => void;
}

/**
 * Calls of one stream that may wait at the same time. Inputs that come before their turn are at most as many as the reorder
 * window holds; the rest is for those that are sent again.
 */
export const awaitedInputsMax = 128;

export class AwaitedInputs {
  readonly #inputs = new Set<AwaitedInput>();

  /** Resolves with the highest durable input once this one is; rejects when nobody waits for that any more. */
  add(sequence: number, signal: CancelSignal): Promise<number> {
    if (this.#inputs.size >= awaitedInputsMax) {
      const message = `${awaitedInputsMax} inputs of this stream wait for those before them, the most at a time; send the missing ones first`;
      return Promise.reject(new InferenceError('caller-full', message));
    }
    return new Promise((resolve, reject) => {
      let stopListening = (): void => {};
      const leave = (): void => {
        stopListening();
        this.#inputs.delete(one);
      };
      const one: AwaitedInput = {
        sequence,
        resolve: (accepted) => {
          leave();
          resolve(accepted);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      this.#inputs.add(one);
      stopListening = signal.onCancel((reason) => {
        one.reject(new InferenceError(reason, `the call ended before input ${sequence} was durable; send it again`));
      });
    });
  }

  /** `ending`: of the stream, once it is durable; what is not accepted then never is. */
  settle(acceptedInput: number, ending: { readonly error: StreamError | undefined } | undefined): void {
    for (const one of this.#inputs) {
      if (one.sequence <= acceptedInput) one.resolve(acceptedInput);
      else if (ending !== undefined) one.reject(endedRefusal(ending.error));
    }
  }

  rejectAll(error: InferenceError): void {
    for (const { reject } of this.#inputs) reject(error);
  }
}
