import type { ModelKey } from '../events.ts';
import type { ModelPolicy } from '../model-policy.ts';
import { AnswerOrder } from './answer-order.ts';
import { ModelQueue } from './model-queue.ts';
import { ModelShare } from './model-share.ts';
import type { WorkerEntry } from './worker-entry.ts';

/** A model version: its policy, its queue, and who serves it. */
export class ModelEntry {
  readonly key: ModelKey;
  readonly queue: ModelQueue;
  readonly answerOrder = new AnswerOrder();
  readonly share: ModelShare;
  readonly workers: WorkerEntry[] = [];
  /** Batches of it that workers hold. */
  batchCount = 0;
  /** Nothing waits for it any more; the entry lives on until its last batch has come back. */
  isRemoved: boolean = false;
  /** It gets no new requests; what waits and runs is finished. */
  isRetired: boolean = false;
  /** It is among those the next pump looks at. */
  isCandidate: boolean = false;
  /** Its next batch is held back until then, as its policy asks; Infinity: none is. */
  heldUntil = Number.POSITIVE_INFINITY;
  #policy: ModelPolicy;

  constructor(key: ModelKey, policy: ModelPolicy) {
    this.key = key;
    this.#policy = policy;
    this.queue = new ModelQueue(policy);
    this.share = new ModelShare(policy.weight);
  }

  get policy(): ModelPolicy {
    return this.#policy;
  }

  /** From here on; requests that came before keep the order of their answers. */
  setPolicy(policy: ModelPolicy): void {
    this.#policy = policy;
    this.queue.setPolicy(policy);
    this.share.weight = policy.weight;
  }
}
