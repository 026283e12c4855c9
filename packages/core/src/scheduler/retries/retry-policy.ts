import type { ErrorCode } from '@millrace/protocol';
import type { Batch } from '../batches/batch.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/**
 * What happens to requests whose batch failed. `elsewhere`: the failure was not about the requests, they are queued
 * again as they were. `alone`: one of them may be the cause, each is run by itself, and its next failure is its own.
 */
export type AfterFailure = 'elsewhere' | 'alone';

export interface RetryPolicy {
  /** A request that this many workers died of is poison; the last of them while it ran with nothing beside it. */
  readonly deathsMax: number;
  /**
   * The same where workers ended by a signal from outside are counted too: an operator or an orchestrator sends it for
   * reasons of its own, but the system's memory killer may send it because of the request. Below the deaths that make a
   * crash loop, so that one request does not take the model away from others.
   */
  readonly killsMax: number;
  /** How often a request may be requeued without fault, so that nothing is retried for ever. */
  readonly requeuesMax: number;
  readonly afterFailure: Partial<Record<ErrorCode, AfterFailure>>;
  readonly afterOtherFailure: AfterFailure;
}

export const defaultRetryPolicy: RetryPolicy = Object.freeze({
  deathsMax: 2,
  killsMax: 4,
  requeuesMax: 8,
  afterFailure: Object.freeze({
    /** A batch is cancelled when nobody waits for it; should a request wait after all, it was not at fault. */
    cancelled: 'elsewhere',
    /** The worker unloaded the model while the batch was in transit. */
    'unknown-model': 'elsewhere',
  }),
  afterOtherFailure: 'alone',
});

export function reactionTo(code: ErrorCode, policy: RetryPolicy): AfterFailure {
  return policy.afterFailure[code] ?? policy.afterOtherFailure;
}

const faultsOfWorkers: ReadonlySet<ErrorCode> = new Set([
  'inference-failed',
  'unknown-model',
  'unsupported',
  'internal',
]);

/** Whether this failure says something about the worker; a bad request, or the failure of others, does not. */
export function isFaultOfWorker(code: ErrorCode): boolean {
  return faultsOfWorkers.has(code);
}

/** For a request whose answer had begun: what was delivered cannot be taken back, so it is not run again. */
export function lostRefusal({ model }: Batch): Refusal {
  const message = `the worker of ${model.key} ended after a part of the answer was sent; send the request again`;
  return { code: 'worker-lost', message };
}

/** Counts a requeue without fault; returns a refusal when that was one too many. */
export function noteRequeue(entry: RequestEntry, policy: RetryPolicy): Refusal | undefined {
  entry.requeues += 1;
  if (entry.requeues <= policy.requeuesMax) return undefined;
  const message = `the request lost its worker ${entry.requeues} times, and the limit is ${policy.requeuesMax}; retry after a pause`;
  return { code: 'worker-lost', message };
}
