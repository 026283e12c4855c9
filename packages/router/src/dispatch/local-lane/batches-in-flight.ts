import { type DispatchMessage, type FailedMessage, MalformedFrame } from '@millrace/protocol';

interface Entry {
  readonly dispatch: DispatchMessage;
  /** Set for a batch that was never sent: what its turn will answer. */
  readonly refusal: FailedMessage | undefined;
}

/** The batches a worker has not answered yet, in dispatch order. Each one's memory is released when it leaves. */
export class BatchesInFlight {
  readonly #entries: Entry[] = [];

  push(dispatch: DispatchMessage, refusal?: FailedMessage): void {
    this.#entries.push({ dispatch, refusal });
  }

  /** The worker answered: it must be the oldest. */
  mustTake(batch: number): void {
    const entry = this.#entries.shift();
    entry?.dispatch.region.release();
    if (entry === undefined || entry.dispatch.batch !== batch) {
      throw new MalformedFrame(
        `an answer to batch ${batch} where ${entry === undefined ? 'none' : `one to ${entry.dispatch.batch}`} was due`,
      );
    }
  }

  /** The oldest, if it is one that was never sent. */
  takeRefusal(): FailedMessage | undefined {
    const refusal = this.#entries[0]?.refusal;
    if (refusal !== undefined) this.#entries.shift()?.dispatch.region.release();
    return refusal;
  }

  clear(): void {
    for (const { dispatch } of this.#entries.splice(0)) dispatch.region.release();
  }
}
