/** Events of workers, from the worker fleet to the data plane. */
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
  /** From here on the scheduler may dispatch batches to the worker. */
  attach(worker: WorkerId, link: WorkerLink): void;
  workerCredit(worker: WorkerId, batchesMax: number): void;
  /** `priorityMax`: it takes only requests of this priority level or more urgent ones; Infinity: all. */
  workerServes(worker: WorkerId, model: ServedModel, priorityMax: number): void;
  workerUnserves(worker: WorkerId, model: ServedModel): void;
  /** The model of the batch that the worker runs; undefined: it runs none. */
  runningModel(worker: WorkerId): ServedModel | undefined;
  /** `isKilled`: ended by a signal from outside. */
  workerGone(worker: WorkerId, isKilled: boolean): void;
  batchAnswered(message: AnsweredMessage): void;
  /** One of several answers of a batch that is still running. */
  batchProgressed(message: PartialAnswerMessage): void;
  batchFailed(message: FailedMessage): void;
  /** A batch calls another model. */
  workerCalls(worker: WorkerId, message: CallMessage): void;
  callCancelled(message: CallCancelledMessage): void;
}
