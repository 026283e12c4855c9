import type { InferAnswer } from './infer.ts';

/**
 * Flow control for the answers of one request to a decoupled model. The worker sends an answer only with credit; unused
 * credit is granted again when the request is sent to another worker.
 */
export class AnswerFlow {
  readonly #receive: (answer: InferAnswer) => void;
  #credit = 0;
  #grant: ((answers: number) => void) | undefined;

  constructor(receive: (answer: InferAnswer) => void) {
    this.#receive = receive;
  }

  /** The receiver accepts this many more answers. */
  grant(answers: number): void {
    this.#credit += answers;
    this.#grant?.(answers);
  }

  /** A worker has the request now; `grant` passes credit to it. */
  connect(grant: (answers: number) => void): void {
    this.#grant = grant;
    if (this.#credit > 0) grant(this.#credit);
  }

  /** The worker exited, or has sent its last answer. */
  disconnect(): void {
    this.#grant = undefined;
  }

  give(answer: InferAnswer): void {
    this.#credit -= 1;
    this.#receive(answer);
  }
}
