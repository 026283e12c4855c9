import type { CancelSignal, InferenceError } from '@millrace/protocol';
import { AnswerFlow } from './answer-flow.ts';
import { CollectedText } from './collected-text.ts';
import type { InferAnswer } from './infer.ts';

/** Answers on their way from a worker whose answers are collected: enough that it never waits for credit. */
const collectedAheadMax = 32;

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

  /** The same, for a request that is answered token by token, whose answers become one. */
  collecting(): Waiter {
    const text = new CollectedText();
    const flow = new AnswerFlow((answer) => {
      text.add(answer);
      flow.grant(1);
    });
    flow.grant(collectedAheadMax);
    const resolve = (end: InferAnswer): void => {
      end.release();
      try {
        this.resolve(text.answer());
      } catch (error) {
        this.reject(error as InferenceError);
      }
    };
    return new Waiter(this.signal, resolve, this.reject, flow);
  }

  /** Makes the promise of an answer, and the waiter that settles it. */
  static promise(signal: CancelSignal, begin: (waiter: Waiter) => void): Promise<InferAnswer> {
    return new Promise((resolve, reject) => begin(new Waiter(signal, resolve, reject)));
  }
}
