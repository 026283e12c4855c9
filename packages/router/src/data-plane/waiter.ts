import type { CancelSignal, InferenceError } from '@millrace/protocol';
import type { AnswerFlow } from './answer-flow.ts';
import type { InferAnswer } from './infer.ts';

/** A caller that waits for an answer and may cancel. Exactly one of `resolve` and `reject` is called, once. */
export class Waiter {
  readonly signal: CancelSignal;
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: InferenceError) => void;
  /** For a request that may have several answers: `resolve` then only ends them. */
  readonly flow: AnswerFlow | undefined;

  constructor(
    signal: CancelSignal,
    resolve: (answer: InferAnswer) => void,
    reject: (error: InferenceError) => void,
    flow?: AnswerFlow,
  ) {
    this.signal = signal;
    this.resolve = resolve;
    this.reject = reject;
    this.flow = flow;
  }

  /** The same, for a request with one answer. */
  withoutFlow(): Waiter {
    return this.flow === undefined ? this : new Waiter(this.signal, this.resolve, this.reject);
  }

  /** Makes the promise of an answer, and the waiter that settles it. */
  static promise(signal: CancelSignal, begin: (waiter: Waiter) => void): Promise<InferAnswer> {
    return new Promise((resolve, reject) => begin(new Waiter(signal, resolve, reject)));
  }
}
