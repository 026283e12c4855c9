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
  checkRoomFor(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) {
      throw new InferenceError(
        'server-full',
        `the requests in progress take all of the ${this.#bytesMax} bytes this server has for request bodies; try again later`,
      );
    }
  }

  take(bytes: number): void {
    this.checkRoomFor(bytes);
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

  /**
   * Refuses at once what could not become whole now. Nothing is taken for what a client has only announced: a few that
   * announce much and send nothing would take it all from the others. What is too large anyway is for others to refuse.
   */
  checkRoomFor(announcedBytes: number, bytesMax: number): void {
    if (announcedBytes <= bytesMax) this.#budget.checkRoomFor(announcedBytes);
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
