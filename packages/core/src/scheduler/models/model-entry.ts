import { AdaptiveBatching } from '../../adaptive/adaptive-batching.ts';
import type { ModelKey } from '../../events.ts';
import type { ModelPolicy } from '../../model-policy.ts';
import { AnswerOrder } from '../batches/answer-order.ts';
import type { InstanceEntry } from '../instances/instance-entry.ts';
import { RunSpeed } from '../instances/run-speed.ts';
import { Throughput } from '../instances/throughput.ts';
import { WaitingRequests } from '../queues/waiting-requests.ts';
import { ModelShare } from './model-share.ts';

/** A model version: its policy, its queue, and the instances that serve it. */
export class ModelEntry {
  readonly key: ModelKey;
  readonly queue: WaitingRequests;
  readonly answerOrder = new AnswerOrder();
  readonly share: ModelShare;
  readonly instances: InstanceEntry[] = [];
  /** Some of its instances accept urgent requests only. */
  hasReserved: boolean = false;
  /** Throughput of all instances together. */
  readonly speed = new RunSpeed();
  readonly throughput = new Throughput();
  /** Chooses rows and instances where the policy names a latency target. */
  adaptive: AdaptiveBatching | undefined = undefined;
  /** Batches of it in flight. */
  batchCount = 0;
  /** Rows in them. */
  outstandingRows = 0;
  /** It was removed; the entry stays until its last batch has ended. */
  isRemoved: boolean = false;
  /** It gets no new requests; queued and running ones are finished. */
  isRetired: boolean = false;
  /** The next pump checks it. */
  isCandidate: boolean = false;
  /** Its next batch is held back until then, by its policy; Infinity: none is. */
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

  /** Callers may have a limited number of its runs. */
  get limitsCallers(): boolean {
    return this.#policy.callerRunsMax !== Number.POSITIVE_INFINITY;
  }

  /** Applies from now on; requests that arrived before keep the order of their answers. */
  setPolicy(policy: ModelPolicy): void {
    const { latencyTargetMs, rowsMax, instancesInUseMax } = this.#policy;
    this.#policy = policy;
    this.queue.setPolicy(policy);
    this.share.weight = policy.weight;
    if (policy.latencyTargetMs !== latencyTargetMs || policy.rowsMax !== rowsMax) this.#adapt();
    else if (policy.instancesInUseMax !== instancesInUseMax) this.noteInstances();
  }

  /** Rows that a batch may have now. */
  get batchRowsMax(): number {
    return this.adaptive === undefined ? this.#policy.rowsMax : this.adaptive.rows;
  }

  /** Instances that may be in use now. */
  get instancesInUseMax(): number {
    return this.adaptive === undefined ? this.#policy.instancesInUseMax : this.adaptive.instances;
  }

  /** Call it when an instance was added or removed. */
  noteInstances(): void {
    this.adaptive?.setInstancesMax(Math.min(this.instances.length, this.#policy.instancesInUseMax));
  }

  #adapt(): void {
    const { latencyTargetMs: targetMs, rowsMax, instancesInUseMax } = this.#policy;
    const instancesMax = Math.max(1, Math.min(this.instances.length, instancesInUseMax));
    this.adaptive =
      targetMs === Number.POSITIVE_INFINITY ? undefined : new AdaptiveBatching({ targetMs, rowsMax, instancesMax });
  }
}
