import { InferenceError } from '@millrace/protocol';

/** The memory that request bodies may take together: many bodies within their own limit are still too much. */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  lease(): BodyLease {
    return new BodyLease(this);
  }

  /** Throws `server-full` when there is not so much left. */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) {
      throw new InferenceError(
        'server-full',
        `the requests in progress take all of the ${this.#bytesMax} bytes this server has for request bodies; try again later`,
      );
    }
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** What one request has of the budget, given back all at once. */
export class BodyLease {
  readonly #budget: BodyBudget;
  #bytes = 0;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  grow(bytes: number): void {
    this.#budget.take(bytes);
    this.#bytes += bytes;
  }

  end(): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}
