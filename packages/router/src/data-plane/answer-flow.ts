import type { InferAnswer } from './infer.ts';

/** The worker that has the request. */
export interface AnswerSource {
  grant(answers: number): void;
  /** The receiver takes another answer now, or takes none until it grants more. */
  creditChanged(hasCredit: boolean): void;
}

/**
 * Flow control for the answers of one request to a decoupled model. The worker sends an answer only with credit; unused
 * credit is granted again when the request is sent to another worker.
 */
export class AnswerFlow {
  readonly #receive: (answer: InferAnswer) => void;
  #credit = 0;
  #worker: AnswerSource | undefined;

  constructor(receive: (answer: InferAnswer) => void) {
    this.#receive = receive;
  }

  /** The receiver accepts this many more answers. */
  grant(answers: number): void {
    const hadCredit = this.#credit > 0;
    this.#credit += answers;
    this.#worker?.grant(answers);
    if (!hadCredit && this.#credit > 0) this.#worker?.creditChanged(true);
  }

  /** A worker has the request now. */
  connect(worker: AnswerSource): void {
    this.#worker = worker;
    if (this.#credit > 0) worker.grant(this.#credit);
    else worker.creditChanged(false);
  }

  /** The worker exited, or has sent its last answer. */
  disconnect(): void {
    this.#worker = undefined;
  }

  give(answer: InferAnswer): void {
    this.#credit -= 1;
    if (this.#credit === 0) this.#worker?.creditChanged(false);
    this.#receive(answer);
  }
}
