/** What operators and metrics may see of the work in progress, and the one thing they may change of it. */
import type { InstanceSnapshot, QueueSnapshot, WorkerId } from '@millrace/core';
import type { ServedModel } from './served-model.ts';

export interface WorkInspection {
  instances(): readonly InstanceSnapshot[];
  queues(): readonly QueueSnapshot[];
  /** Requests of the model that wait for a batch, and that are under way. */
  workOf(model: ServedModel): { readonly waitingRequests: number; readonly runningRequests: number };
  /** The worker is trusted again from now on. */
  closeBreaker(worker: WorkerId): void;
}
