import type { WorkerId } from '@millrace/core';
import type { ServedModel } from '../data-plane/served-model.ts';

/** What the fleet tells whoever watches it: the log, the metrics. */
export interface FleetListener {
  /** A worker, the first or a later one, has loaded the model. */
  modelLoaded(model: ServedModel, loadMs: number): void;
  /** One of its workers cannot serve the model; others do, so callers notice no more than fewer hands. */
  modelShortOfWorker(model: ServedModel, worker: WorkerId, reason: string): void;
  workerStarted(group: string, worker: WorkerId, pid: number | undefined): void;
  /** Every model of its group is loaded, or has failed to. */
  workerReady(group: string, worker: WorkerId, pid: number | undefined): void;
  workerStopping(worker: WorkerId): void;
  /** `restartInMs` is undefined when nothing takes its place. */
  workerGone(group: string, worker: WorkerId, reason: string, restartInMs: number | undefined): void;
}
