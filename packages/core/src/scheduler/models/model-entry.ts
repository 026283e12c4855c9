import { AdaptiveBatching } from '../../adaptive/adaptive-batching.ts';
import type { ModelKey } from '../../events.ts';
import type { ModelPolicy } from '../../model-policy.ts';
import { AnswerOrder } from '../batches/answer-order.ts';
import type { InstanceEntry } from '../instances/instance-entry.ts';
import { RunSpeed } from '../instances/run-speed.ts';
import { Throughput } from '../instances/throughput.ts';
import { WaitingRequests } from '../queues/waiting-requests.ts';
import { ModelShare } from './model-share.ts';

/** A model version: its policy, its queue, and who serves it. */
export class ModelEntry {
  readonly key: ModelKey;
  readonly queue: WaitingRequests;
  readonly answerOrder = new AnswerOrder();
  readonly share: ModelShare;
  readonly instances: InstanceEntry[] = [];
  /** Some of its instances take urgent requests only. */
  hasReserved: boolean = false;
  /** Of all instances together. */
  readonly speed = new RunSpeed();
  readonly throughput = new Throughput();
  /** Chooses rows and instances where the policy names a latency target. */
  adaptive: AdaptiveBatching | undefined = undefined;
  /** Batches of it that workers hold. */
  batchCount = 0;
  /** Rows in them. */
  outstandingRows = 0;
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
    this.queue = new WaitingRequests(policy);
    this.share = new ModelShare(policy.weight);
    this.#adapt();
  }

  get policy(): ModelPolicy {
    return this.#policy;
  }

  /** From here on; requests that came before keep the order of their answers. */
  setPolicy(policy: ModelPolicy): void {
    const { latencyTargetMs, rowsMax } = this.#policy;
    this.#policy = policy;
    this.queue.setPolicy(policy);
    this.share.weight = policy.weight;
    if (policy.latencyTargetMs !== latencyTargetMs || policy.rowsMax !== rowsMax) this.#adapt();
  }

  /** Rows that a batch may have now. */
  get batchRowsMax(): number {
    return this.adaptive === undefined ? this.#policy.rowsMax : this.adaptive.rows;
  }

  #adapt(): void {
    const { latencyTargetMs: targetMs, rowsMax } = this.#policy;
    const instancesMax = Math.max(1, this.instances.length);
    this.adaptive =
      targetMs === Number.POSITIVE_INFINITY ? undefined : new AdaptiveBatching({ targetMs, rowsMax, instancesMax });
  }
}
