import type { ModelKey } from '../events.ts';
import type { ModelPolicy } from '../model-policy.ts';
import { ModelQueue } from './model-queue.ts';
import type { WorkerEntry } from './worker-entry.ts';

/** A model version: its policy, its queue, and who serves it. */
export class ModelEntry {
  readonly key: ModelKey;
  readonly queue = new ModelQueue();
  readonly workers: WorkerEntry[] = [];
  policy: ModelPolicy;
  /** Batches of it that workers hold. */
  batchCount = 0;
  /** Nothing waits for it any more; the entry lives on until its last batch has come back. */
  isRemoved: boolean = false;
  /** It gets no new requests; what waits and runs is finished. */
  isRetired: boolean = false;
  /** It is among those the next pump looks at. */
  isCandidate: boolean = false;

  constructor(key: ModelKey, policy: ModelPolicy) {
    this.key = key;
    this.policy = policy;
  }
}
