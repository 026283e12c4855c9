/** What whoever keeps the workers tells the data plane about them. */
import type { WorkerId } from '@millrace/core';
import type {
  AnsweredMessage,
  CallCancelledMessage,
  CallMessage,
  FailedMessage,
  PartialAnswerMessage,
  WorkerLink,
} from '@millrace/protocol';
import type { ServedModel } from './served-model.ts';

export interface WorkerEvents {
  /** From here on the scheduler may give this worker work. */
  attach(worker: WorkerId, link: WorkerLink): void;
  workerCredit(worker: WorkerId, batchesMax: number): void;
  /** `priorityMax`: it takes requests of this priority level and more urgent ones only; Infinity: all. */
  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void;
  workerUnserves(worker: WorkerId, model: ServedModel): void;
  workerGone(worker: WorkerId): void;
  batchAnswered(message: AnsweredMessage): void;
  /** One of several answers of a batch that runs on. */
  batchProgressed(message: PartialAnswerMessage): void;
  batchFailed(message: FailedMessage): void;
  /** A batch asks another model. */
  workerCalls(worker: WorkerId, message: CallMessage): void;
  callCancelled(message: CallCancelledMessage): void;
}
