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
  /** Set for a batch that was never sent: what its turn will answer. */
  readonly refusal: FailedMessage | undefined;
  /** What the calls of the batch were answered. */
  readonly answers: Region[];
  /** How many partial answers it has given. */
  parts: number;
}

/**
 * The batches a worker has not answered yet, in dispatch order. Each one's memory is released when it leaves, with that
 * of the answers to its calls.
 */
export class BatchesInFlight {
  readonly #entries: Entry[] = [];
  /** The oldest is answered first. */
  isOrdered: boolean = true;
  /** Numbers of the models that answer a dispatch any number of times. */
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

  /** The worker answered or failed it: it must be the oldest, where they are ordered. */
  mustTake(batch: number): DispatchMessage {
    const index = this.isOrdered ? 0 : this.#indexOf(batch);
    const [entry] = index < 0 ? [] : this.#entries.splice(index, 1);
    if (entry !== undefined) release(entry);
    if (entry === undefined || entry.dispatch.batch !== batch) {
      throw new MalformedFrame(
        `an answer to batch ${batch} where ${entry === undefined ? 'none' : `one to ${entry.dispatch.batch}`} was due`,
      );
    }
    return entry.dispatch;
  }

  /** The same, with what was asked for: whoever cuts the answer up takes that for granted. */
  mustTakeAnswered({ batch, outputs }: Pick<AnsweredMessage, 'batch' | 'outputs'>): void {
    const dispatch = this.mustTake(batch);
    // The answer that ends a batch of a decoupled model has none.
    mustHaveOutputs(batch, outputs, this.decoupledModels.has(dispatch.model) ? [] : dispatch.outputs);
  }

  /** One of several answers: its batch stays in flight, and must be next with this one. */
  mustNotePart({ batch, sequence, outputs }: PartialAnswerMessage): void {
    const entry = this.#entries[this.#indexOf(batch)];
    if (entry === undefined || !this.decoupledModels.has(entry.dispatch.model)) {
      throw new MalformedFrame(`a partial answer to batch ${batch}, which is not in flight or has one answer`);
    }
    entry.parts += 1;
    if (sequence !== entry.parts) {
      throw new MalformedFrame(`partial answer ${sequence} to batch ${batch} where ${entry.parts} was due`);
    }
    mustHaveOutputs(batch, outputs, entry.dispatch.outputs);
  }

  /** One that was never sent, when its turn has come. */
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
    return this.#entries.findIndex((entry) => entry.dispatch.batch === batch);
  }
}

function mustHaveOutputs(batch: number, outputs: readonly BatchTensor[], asked: readonly number[]): void {
  if (outputs.length === asked.length && asked.every((index) => outputs.some((one) => one.index === index))) return;
  const given = outputs.map(({ index }) => index).join(', ') || 'none';
  throw new MalformedFrame(`batch ${batch} was answered with the outputs ${given}, and asked for ${asked.join(', ')}`);
}

function release({ dispatch, answers }: Entry): void {
  dispatch.region.release();
  for (const answer of answers) answer.release();
}
