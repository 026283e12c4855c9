/** Inputs that came in calls of their own, until they are durable: their callers wait for that. */
import type { StreamError } from '@millrace/core';
import type { InferenceError } from '@millrace/protocol';
import { endedRefusal } from './stream-refusals.ts';

interface AwaitedInput {
  readonly sequence: number;
  readonly resolve: (accepted: number) => void;
  readonly reject: (error: InferenceError) => void;
}

export class AwaitedInputs {
  #inputs: AwaitedInput[] = [];

  /** Resolves with the highest durable input once this one is. */
  add(sequence: number): Promise<number> {
    return new Promise((resolve, reject) => this.#inputs.push({ sequence, resolve, reject }));
  }

  /** `ending`: of the stream, once it is durable; what is not accepted then never is. */
  settle(acceptedInput: number, ending: { readonly error: StreamError | undefined } | undefined): void {
    if (this.#inputs.length === 0) return;
    const waiting: AwaitedInput[] = [];
    for (const one of this.#inputs) {
      if (one.sequence <= acceptedInput) one.resolve(acceptedInput);
      else if (ending === undefined) waiting.push(one);
      else one.reject(endedRefusal(ending.error));
    }
    this.#inputs = waiting;
  }

  rejectAll(error: InferenceError): void {
    for (const { reject } of this.#inputs.splice(0)) reject(error);
  }
}
