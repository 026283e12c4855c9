import {
  type AnsweredMessage,
  type BatchTensor,
  type DispatchMessage,
  type FailedMessage,
  MalformedFrame,
  type PartialAnswerMessage,
  type Region,
} from '@millrace/protocol';

interface Entry {
  readonly dispatch: DispatchMessage;
  /** Set for a batch that was never sent: the answer to give when it is its turn. */
  readonly refusal: FailedMessage | undefined;
  /** The answers to the calls of the batch. */
  readonly answers: Region[];
  /** Partial answers so far. */
  parts: number;
}

/**
 * The batches that a worker has not answered yet, in dispatch order. The memory of a batch, and of the answers to its
 * calls, is released when the batch is removed.
 */
export class BatchesInFlight {
  readonly #entries: Entry[] = [];
  /** The worker must answer the oldest batch first. */
  isOrdered: boolean = true;
  /** Numbers of the decoupled models. */
  readonly decoupledModels = new Set<number>();

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  has(batch: number): boolean {
    return this.#indexOf(batch) >= 0;
  }

  push(dispatch: DispatchMessage, refusal?: FailedMessage): void {
    this.#entries.push({ dispatch, refusal, answers: [], parts: 0 });
  }

  /** Keeps the answer to a call for as long as the batch is in flight. */
  hold(batch: number, answer: Region): void {
    this.#entries[this.#indexOf(batch)]?.answers.push(answer);
  }

  /** Removes a batch that the worker answered or failed: it must be the oldest, where they are ordered. */
  mustTake(batch: number): DispatchMessage {
    const index = this.isOrdered ? 0 : this.#indexOf(batch);
    const [entry] = index < 0 ? [] : this.#entries.splice(index, 1);
    if (entry !== undefined) release(entry);
    if (entry === undefined || entry.dispatch.batch !== batch) {
      throw new MalformedFrame(
        `an answer to batch ${batch}, but ${entry === undefined ? 'none' : `one to ${entry.dispatch.batch}`} was expected`,
      );
    }
    return entry.dispatch;
  }

  /** The same, and the answer must have the requested outputs: the code that splits it relies on that. */
  mustTakeAnswered({ batch, outputs }: Pick<AnsweredMessage, 'batch' | 'outputs'>): void {
    const dispatch = this.mustTake(batch);
    // The answer that ends a batch of a decoupled model has no outputs.
    mustHaveOutputs(batch, outputs, this.decoupledModels.has(dispatch.model) ? [] : dispatch.outputs);
  }

  /** Counts one of several answers: its batch stays in flight, and its number must be the next one. */
  mustNotePart({ batch, sequence, outputs }: PartialAnswerMessage): void {
    const entry = this.#entries[this.#indexOf(batch)];
    if (entry === undefined || !this.decoupledModels.has(entry.dispatch.model)) {
      throw new MalformedFrame(
        `a partial answer to batch ${batch}, which is not in flight or not of a decoupled model`,
      );
    }
    entry.parts += 1;
    if (sequence !== entry.parts) {
      throw new MalformedFrame(`partial answer ${sequence} to batch ${batch}, but ${entry.parts} was expected`);
    }
    mustHaveOutputs(batch, outputs, entry.dispatch.outputs);
  }

  /** The answer to a batch that was never sent, when it is its turn. */
  takeRefusal(): FailedMessage | undefined {
    const index = this.isOrdered ? 0 : this.#entries.findIndex((entry) => entry.refusal !== undefined);
    const refusal = this.#entries[index]?.refusal;
    if (refusal !== undefined) for (const entry of this.#entries.splice(index, 1)) release(entry);
    return refusal;
  }

  clear(): void {
    for (const entry of this.#entries.splice(0)) release(entry);
  }

  #indexOf(batch: number): number {
    const entries = this.#entries;
    for (let index = 0; index < entries.length; index++) {
      if ((entries[index] as Entry).dispatch.batch === batch) return index;
    }
    return -1;
  }
}

function mustHaveOutputs(batch: number, outputs: readonly BatchTensor[], asked: readonly number[]): void {
  if (outputs.length === asked.length) {
    // Nearly all answers: in the order in which they were asked for.
    let position = 0;
    while (position < asked.length && (outputs[position] as BatchTensor).index === asked[position]) position += 1;
    if (position === asked.length) return;
    if (asked.every((index) => outputs.some((one) => one.index === index))) return;
  }
  const given = outputs.map(({ index }) => index).join(', ') || 'none';
  throw new MalformedFrame(
    `batch ${batch} was answered with outputs ${given}, but the request was for ${asked.join(', ') || 'none'}`,
  );
}

function release({ dispatch, answers }: Entry): void {
  dispatch.region.release();
  for (const answer of answers) answer.release();
}
