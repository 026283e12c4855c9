import type { WorkerId } from '@millrace/core';
import type { ServedModel } from '../data-plane/served-model.ts';

/** Events of the worker fleet, for the log and the metrics. */
export interface FleetListener {
  /** A worker, the first or a later one, has loaded the model. */
  modelLoaded(model: ServedModel, loadMs: number): void;
  /** One of its workers cannot serve the model. Others can, so that callers only notice less capacity. */
  modelShortOfWorker(model: ServedModel, worker: WorkerId, reason: string): void;
  workerStarted(group: string, worker: WorkerId, pid: number | undefined): void;
  /** Every model of its group is loaded, or has failed to load. */
  workerReady(group: string, worker: WorkerId, pid: number | undefined): void;
  workerStopping(worker: WorkerId): void;
  /** `restartInMs` is undefined when the worker is not replaced. */
  workerGone(group: string, worker: WorkerId, reason: string, restartInMs: number | undefined): void;
}
