import type { InferAnswer } from './infer.ts';

/**
 * The answers of one request to a decoupled model, on their way to whoever takes them. The worker gives one only when it
 * has been granted: credit that nobody used is granted anew when the request goes to another worker.
 */
export class AnswerFlow {
  readonly #receive: (answer: InferAnswer) => void;
  #credit = 0;
  #grant: ((answers: number) => void) | undefined;

  constructor(receive: (answer: InferAnswer) => void) {
    this.#receive = receive;
  }

  /** Whoever takes the answers takes so many more. */
  grant(answers: number): void {
    this.#credit += answers;
    this.#grant?.(answers);
  }

  /** A worker has the request now, and is told of credit by `grant`. */
  connect(grant: (answers: number) => void): void {
    this.#grant = grant;
    if (this.#credit > 0) grant(this.#credit);
  }

  /** Its worker is gone, or has answered for the last time. */
  disconnect(): void {
    this.#grant = undefined;
  }

  give(answer: InferAnswer): void {
    this.#credit -= 1;
    this.#receive(answer);
  }
}
