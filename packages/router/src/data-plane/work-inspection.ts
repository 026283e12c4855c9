/** What operators and metrics see of the work in progress, and the one change they can make: closing a breaker. */
import type { InstanceSnapshot, QueueSnapshot, WorkerId } from '@millrace/core';
import type { ServedModel } from './served-model.ts';

export interface WorkInspection {
  instances(): readonly InstanceSnapshot[];
  queues(): readonly QueueSnapshot[];
  /** Requests of the model that wait for a batch, and those in flight. */
  workOf(model: ServedModel): { readonly waitingRequests: number; readonly runningRequests: number };
  /** Returns the worker to service. */
  closeBreaker(worker: WorkerId): void;
}
