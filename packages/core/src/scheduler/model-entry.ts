import type { ModelKey, ModelLimits } from '../events.ts';
import { ModelQueue } from './model-queue.ts';
import type { WorkerEntry } from './worker-entry.ts';

/** A model version: its limits, its queue, and who serves it. */
export class ModelEntry {
  readonly key: ModelKey;
  readonly queue = new ModelQueue();
  readonly workers: WorkerEntry[] = [];
  limits: ModelLimits;
  /** Batches of it that workers hold. */
  batchCount = 0;
  /** Nothing waits for it any more; the entry lives on until its last batch has come back. */
  isRemoved: boolean = false;
  /** It is among those the next pump looks at. */
  isCandidate: boolean = false;

  constructor(key: ModelKey, limits: ModelLimits) {
    this.key = key;
    this.limits = limits;
  }
}
