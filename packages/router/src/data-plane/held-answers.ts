/** Answers of models that keep the order of their answers, while they wait for those of earlier requests. */
import { AnswerHoldings, type BatchId, memoryBytesMaxDefault } from '@millrace/core';
import { IdMap, InferenceError } from '@millrace/protocol';

/** An answer with parts for several requests. */
export interface HeldAnswer {
  readonly caller: string;
  readonly bytes: number;
  /** Whether requests still wait for their part. */
  readonly isAwaited: boolean;
  /** No more parts will be handed out, although requests wait for theirs. */
  giveUp(refusal: InferenceError): void;
  /** No more parts will be handed out. */
  endParts(): void;
}

interface Held<Answer> {
  readonly answer: Answer;
  readonly caller: string;
  /** That are counted. */
  readonly bytes: number;
}

/**
 * Answers with parts that wait for those of earlier requests, as the scheduler decides. One for which there is no memory is given up,
 * and its requests fail in their turn.
 */
export class HeldAnswers<Answer extends HeldAnswer> {
  readonly #holdings: AnswerHoldings;
  readonly #held = new IdMap<Held<Answer>>();

  constructor(bytesMax: number = memoryBytesMaxDefault) {
    this.#holdings = new AnswerHoldings(bytesMax);
  }

  get(batch: BatchId): Answer | undefined {
    return this.#held.get(batch)?.answer;
  }

  hold(batch: BatchId, answer: Answer): void {
    const { caller, bytes } = answer;
    const code = this.#holdings.take(caller, bytes);
    this.#held.set(batch, { answer, caller, bytes: code === undefined ? bytes : 0 });
    if (code === undefined) return;
    const holder = code === 'caller-full' ? ' of this caller' : '';
    const limit = `hold as much memory as they may (${this.#holdings.bytes} of ${this.#holdings.bytesMax} bytes are taken)`;
    const text = `answers${holder} that wait for those of earlier requests (preserve_ordering) ${limit}, and this one has ${bytes} bytes`;
    answer.giveUp(new InferenceError(code, `${text}; wait for answers, or try again later`));
  }

  /** Releases those whose last part was handed out, or is no longer waited for. */
  releaseEnded(): void {
    if (this.#held.size === 0) return;
    for (const [batch, { answer, caller, bytes }] of this.#held.entries()) {
      if (answer.isAwaited) continue;
      this.#held.delete(batch);
      this.#holdings.giveBack(caller, bytes);
      answer.endParts();
    }
  }
}
