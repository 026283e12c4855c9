import { AnswerHoldings, type BatchId, memoryBytesMaxDefault, type WorkerId } from '@millrace/core';
import { type AnsweredMessage, IdMap, InferenceError } from '@millrace/protocol';
import type { AnswerSplitter } from './batch-layout.ts';
import type { PendingRequest } from './pending-requests.ts';
import type { ServedModel } from './served-model.ts';
import type { TokenMeter } from './token-meter.ts';

/** A batch that a worker holds. */
export interface RunningBatch {
  readonly worker: WorkerId;
  readonly model: ServedModel;
  /** In row order. Objects, not ids: ids are reused, so that a request that ended could not be told from a later one. */
  readonly pending: PendingRequest[];
  readonly rows: number;
  readonly dispatchedAt: number;
  /** How long it took to lay out its inputs; known when it is sent. */
  layOutMs: number;
  /** Of a generator, made with the first token. */
  tokens: TokenMeter | undefined;
}

/** The answer to a batch. Its memory is released when all parts were handed out and everyone who got one has released it. */
export class BatchAnswer {
  readonly batch: RunningBatch;
  readonly message: AnsweredMessage;
  readonly splitter: Pick<AnswerSplitter, 'rows'>;
  /** How long it took to split the answer. */
  readonly splitMs: number;
  /** Why those who still wait for a part do not get it: its memory was given up. */
  refusal: InferenceError | undefined = undefined;
  /** The holders of a part, plus one while parts may still be handed out. */
  #holderCount = 1;

  constructor(batch: RunningBatch, message: AnsweredMessage, splitter: Pick<AnswerSplitter, 'rows'>, splitMs: number) {
    this.batch = batch;
    this.message = message;
    this.splitter = splitter;
    this.splitMs = splitMs;
  }

  /** Whether requests of the batch still wait for their part, because the model's answers leave in order of arrival. */
  get isAwaited(): boolean {
    return this.batch.pending.some((pending) => !pending.hasEnded);
  }

  /** To be called when no more parts will be handed out. */
  endParts(): void {
    // Otherwise an array in the old generation would keep its requests alive until the next full garbage collection.
    this.batch.pending.length = 0;
    if (this.refusal === undefined) this.release();
  }

  /** No more parts will be handed out, although requests wait for theirs. */
  giveUp(refusal: InferenceError): void {
    this.refusal = refusal;
    this.release();
  }

  hold(holderCount: number): void {
    this.#holderCount += holderCount;
  }

  readonly release = (): void => {
    this.#holderCount -= 1;
    if (this.#holderCount === 0) this.message.region.release();
  };
}

interface Held {
  readonly answer: BatchAnswer;
  readonly caller: string;
  /** That are counted. */
  readonly bytes: number;
}

/**
 * Answers with parts that wait for those of earlier requests, as the scheduler decides. One for which there is no memory is given up,
 * and its requests fail in their turn.
 */
export class HeldAnswers {
  readonly #holdings: AnswerHoldings;
  readonly #held = new IdMap<Held>();

  constructor(bytesMax: number = memoryBytesMaxDefault) {
    this.#holdings = new AnswerHoldings(bytesMax);
  }

  get(batch: BatchId): BatchAnswer | undefined {
    return this.#held.get(batch)?.answer;
  }

  hold(batch: BatchId, answer: BatchAnswer): void {
    const caller = answer.batch.pending[0]?.valid.caller ?? '';
    let bytes = 0;
    for (const { data } of answer.message.outputs) bytes += data.length;
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
