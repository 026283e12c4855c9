import type { WorkerId } from '@millrace/core';
import type { AnsweredMessage } from '@millrace/protocol';
import type { AnswerSplitter } from './batch-layout.ts';
import type { PendingRequest } from './pending-requests.ts';
import type { ServedModel } from './served-model.ts';

/** A batch that a worker holds. */
export interface RunningBatch {
  readonly worker: WorkerId;
  readonly model: ServedModel;
  /** In row order. Not their ids: by those, requests that ended meanwhile could not be told from later ones. */
  readonly pending: PendingRequest[];
  readonly rows: number;
  readonly dispatchedAt: number;
  /** How long it took to lay out its inputs; known when it is sent. */
  layOutMs: number;
}

/** The answer to a batch. Its memory goes back when everyone who was handed a part has used it, and no more are to come. */
export class BatchAnswer {
  readonly batch: RunningBatch;
  readonly message: AnsweredMessage;
  readonly splitter: Pick<AnswerSplitter, 'rows'>;
  /** How long it took to take the answer apart. */
  readonly splitMs: number;
  /** Those who were handed a part, and one while parts may still be handed out. */
  #holderCount = 1;

  constructor(batch: RunningBatch, message: AnsweredMessage, splitter: Pick<AnswerSplitter, 'rows'>, splitMs: number) {
    this.batch = batch;
    this.message = message;
    this.splitter = splitter;
    this.splitMs = splitMs;
  }

  /** Whether some of the batch still wait for their part: their model's answers leave in order of arrival. */
  get isAwaited(): boolean {
    return this.batch.pending.some((pending) => !pending.hasEnded);
  }

  /** To be called when no more parts are to come. */
  endParts(): void {
    // Lest an array that is old when it dies keep its requests until the next full garbage collection.
    this.batch.pending.length = 0;
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
