import type { CancelSignal, InferenceError } from '@millrace/protocol';
import type { AnswerFlow } from './answer-flow.ts';
import type { InferAnswer } from './infer.ts';

/** Somebody who waits for an answer and may leave: told once, by one of the two. */
export class Waiter {
  readonly signal: CancelSignal;
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: InferenceError) => void;
  /** Of a request that may have several answers: `resolve` then only ends them. */
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

  /** The promise of an answer, and who waits for it. */
  static promise(signal: CancelSignal, begin: (waiter: Waiter) => void): Promise<InferAnswer> {
    return new Promise((resolve, reject) => begin(new Waiter(signal, resolve, reject)));
  }
}
