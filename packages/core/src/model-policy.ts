/** How requests of one model are queued, batched and bounded. What an operator writes in a model's configuration ends here. */
import { assert } from './assert.ts';

/** The queue of one priority level. */
export interface QueuePolicy {
  /** Requests that may wait at this level; Infinity: as many as the model's bounds allow. */
  readonly requestsMax: number;
  /** How long a request may wait; Infinity: as long as its own deadline allows. */
  readonly timeoutMs: number;
  /** What becomes of one that waited so long: it is refused, or goes behind all others of its level. */
  readonly timeoutAction: 'refuse' | 'delay';
  /** A request may shorten `timeoutMs` for itself, as in Triton: only one that is not Infinity. */
  readonly allowsTimeoutOverride: boolean;
}

export interface ModelPolicy {
  /** Rows in a batch, and so also in one request; 1 means that batches are single requests. */
  readonly rowsMax: number;
  /** Over all priority levels. */
  readonly queueRequestsMax: number;
  readonly queueBytesMax: number;
  /** A run that takes this long costs the worker its life. Infinity: no limit. */
  readonly runMsMax: number;
  /** Sizes that a batch is held back for, ascending; empty: none. They matter only with a `delayMs`. */
  readonly preferredRows: readonly number[];
  /** How long the oldest request may be held back, while a worker is free, for a fuller batch; 0: never. */
  readonly delayMs: number;
  /** Answers leave in the order in which their requests came. */
  readonly isOrdered: boolean;
  /** One for each priority level, the most urgent first; at least one. */
  readonly queues: readonly QueuePolicy[];
  /** The level, from 1, of a request that names none or one that does not exist. */
  readonly priorityDefault: number;
  /** A request whose wait is estimated to be longer is refused at once; Infinity: never for that. */
  readonly waitMsMax: number;
  /** What 99 of 100 requests should not take longer than: batches and instances in use are limited for it; Infinity: not. */
  readonly latencyTargetMs: number;
  /** Share of contended workers against other models. */
  readonly weight: number;
  /** Its workers serve it alone and run all the batches that they hold at the same time. */
  readonly isConcurrent: boolean;
}

export const openQueue: QueuePolicy = Object.freeze({
  requestsMax: Number.POSITIVE_INFINITY,
  timeoutMs: Number.POSITIVE_INFINITY,
  timeoutAction: 'refuse',
  allowsTimeoutOverride: false,
});

type Bounds = Pick<ModelPolicy, 'rowsMax' | 'queueRequestsMax' | 'queueBytesMax' | 'runMsMax'>;

/** Completes a policy: one queue, first come first served, nothing held back. */
export function resolveModelPolicy(options: Bounds & Partial<ModelPolicy>): ModelPolicy {
  const policy: ModelPolicy = Object.freeze({
    preferredRows: [],
    delayMs: 0,
    isOrdered: false,
    queues: [openQueue],
    priorityDefault: 1,
    waitMsMax: Number.POSITIVE_INFINITY,
    latencyTargetMs: Number.POSITIVE_INFINITY,
    weight: 1,
    isConcurrent: false,
    ...options,
  });
  assert(policy.rowsMax >= 1 && policy.queueRequestsMax >= 1, 'a model takes at least one row and one request');
  assert(policy.queues.length >= 1, 'a model has at least one priority level');
  assert(policy.priorityDefault >= 1 && policy.priorityDefault <= policy.queues.length, 'the default level exists');
  assert(policy.waitMsMax > 0 && policy.latencyTargetMs > 0, 'a wait and a latency target are above 0');
  assert(policy.delayMs >= 0 && policy.weight > 0, 'a delay is not negative and a weight is above 0');
  return policy;
}
