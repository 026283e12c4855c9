import type { ErrorCode } from '@millrace/protocol';
import type { Batch } from '../batches/batch.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/**
 * What becomes of requests whose batch came to nothing. `elsewhere`: it was not about the requests, they are queued
 * again as they were. `alone`: one of them may be the cause, each is run by itself, and what it then meets is its own.
 */
export type AfterFailure = 'elsewhere' | 'alone';

export interface RetryPolicy {
  /** A request that this many workers died of is poison; the last of them while it ran with nothing beside it. */
  readonly deathsMax: number;
  /** Times a request may lose its place without blame, so that nothing is retried for ever. */
  readonly requeuesMax: number;
  readonly afterFailure: Partial<Record<ErrorCode, AfterFailure>>;
  readonly afterOtherFailure: AfterFailure;
}

export const defaultRetryPolicy: RetryPolicy = Object.freeze({
  deathsMax: 2,
  requeuesMax: 8,
  afterFailure: Object.freeze({
    /** A batch is cancelled when nobody waits for it; should someone wait after all, it was not their doing. */
    cancelled: 'elsewhere',
    /** The worker dropped the model while the batch was on its way. */
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

/** Whether a batch that failed so says something of the worker; what is wrong with a request, or with others, does not. */
export function isFaultOfWorker(code: ErrorCode): boolean {
  return faultsOfWorkers.has(code);
}

/** Of a request whose answer had begun: what was handed out cannot be taken back, so it is not run again. */
export function lostRefusal({ model }: Batch): Refusal {
  const message = `the worker of ${model.key} ended after a part of the answer was sent; send the request again`;
  return { code: 'worker-lost', message };
}

/** Counts a place lost without blame; a refusal when that was one too many. */
export function noteRequeue(entry: RequestEntry, policy: RetryPolicy): Refusal | undefined {
  entry.requeues += 1;
  if (entry.requeues <= policy.requeuesMax) return undefined;
  const message = `the request lost its worker ${entry.requeues} times, more often than the ${policy.requeuesMax} it is tried again; retry after a pause`;
  return { code: 'worker-lost', message };
}
