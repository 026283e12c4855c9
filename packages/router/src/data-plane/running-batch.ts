import type { WorkerId } from '@millrace/core';
import type { AnsweredMessage, InferenceError } from '@millrace/protocol';
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

  /** Of the first request; '' where callers are not told apart. */
  get caller(): string {
    return this.batch.pending[0]?.valid.caller ?? '';
  }

  /** Of all outputs. */
  get bytes(): number {
    let bytes = 0;
    for (const { data } of this.message.outputs) bytes += data.length;
    return bytes;
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
