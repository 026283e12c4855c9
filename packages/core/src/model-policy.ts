/** How requests of one model are queued, batched and limited: the compiled form of a model's configuration. */
import { assert } from './assert.ts';

/** The queue of one priority level. */
export interface QueuePolicy {
  /** Requests that may wait at this level; Infinity: as many as the model's bounds allow. */
  readonly requestsMax: number;
  /** How long a request may wait; Infinity: as long as its own deadline allows. */
  readonly timeoutMs: number;
  /** What happens after that time: the request is refused, or moved behind all others of its level. */
  readonly timeoutAction: 'refuse' | 'delay';
  /** A request may shorten `timeoutMs` for itself, as in Triton: only one that is not Infinity. */
  readonly allowsTimeoutOverride: boolean;
}

/** Runs of one caller on a worker: a number, or as many as leave enough for other callers. */
export type CallerRunsMax = number | 'share';

export interface ModelPolicy {
  /** Rows in a batch, and so also in one request; 1: a batch is a single request. */
  readonly rowsMax: number;
  /** Over all priority levels. */
  readonly queueRequestsMax: number;
  readonly queueBytesMax: number;
  /** A worker whose run takes this long is killed. Infinity: no limit. */
  readonly runMsMax: number;
  /** Preferred batch sizes, ascending; empty: none. They matter only with a `delayMs`. */
  readonly preferredRows: readonly number[];
  /** How long the oldest request may be held back for a fuller batch while a worker is free; 0: never. */
  readonly delayMs: number;
  /** Answers are delivered in the order in which their requests arrived. */
  readonly isOrdered: boolean;
  /** One for each priority level, the most urgent first; at least one. */
  readonly queues: readonly QueuePolicy[];
  /** The level, from 1, of a request that names none or one that does not exist. */
  readonly priorityDefault: number;
  /** A request whose estimated wait is longer is refused at once; Infinity: never for that reason. */
  readonly waitMsMax: number;
  /**
   * Target for the 99th percentile of latency: batches and instances in use are limited for it; Infinity: no target.
   */
  readonly latencyTargetMs: number;
  /**
   * Instances that get batches at the same time; the others are warm spares, each used as soon as one of these is gone or
   * its breaker opens. Infinity: all are used.
   */
  readonly instancesInUseMax: number;
  /** Share of contended workers relative to other models. */
  readonly weight: number;
  /** Its workers serve only this model and run all batches that they hold at the same time. */
  readonly isConcurrent: boolean;
  /** Its workers work on all batches that they hold in turns: a part of the answer of one begins the run limit of all anew. */
  readonly sharesProgress: boolean;
  /**
   * Runs of one caller that a worker has at once; requests beyond wait, and those of other callers overtake them. For models
   * whose runs take as long as their callers like, because they wait for answers to be read. Infinity: no limit.
   */
  readonly callerRunsMax: CallerRunsMax;
  /** A run whose caller reads no answer for so long ends when a request waits that could begin instead; Infinity: none does. */
  readonly unreadMsMax: number;
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
    instancesInUseMax: Number.POSITIVE_INFINITY,
    weight: 1,
    isConcurrent: false,
    sharesProgress: false,
    callerRunsMax: Number.POSITIVE_INFINITY,
    unreadMsMax: Number.POSITIVE_INFINITY,
    ...options,
  });
  assert(policy.rowsMax >= 1 && policy.queueRequestsMax >= 1, 'rowsMax and queueRequestsMax are at least 1');
  assert(policy.queues.length >= 1, 'a model has at least one priority level');
  assert(policy.priorityDefault >= 1 && policy.priorityDefault <= policy.queues.length, 'the default level exists');
  assert(policy.waitMsMax > 0 && policy.latencyTargetMs > 0, 'waitMsMax and latencyTargetMs are above 0');
  assert(policy.instancesInUseMax >= 1, 'instancesInUseMax is at least 1');
  assert(policy.unreadMsMax > 0, 'unreadMsMax is above 0');
  assert(policy.delayMs >= 0 && policy.weight > 0, 'delayMs is not negative and weight is above 0');
  if (policy.callerRunsMax !== Number.POSITIVE_INFINITY) {
    assert(policy.isConcurrent && policy.rowsMax === 1, 'runs are counted by caller where each is one request');
    assert(policy.callerRunsMax === 'share' || policy.callerRunsMax >= 1, 'callerRunsMax is at least 1');
  }
  return policy;
}
