import type { Batch } from './batch.ts';
import type { Refusal } from './refusal.ts';
import type { RequestEntry } from './request-entry.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { WorkerEntry } from './worker-entry.ts';

/**
 * `blamed`: it ran when its worker died. `overdue`: it ran too long and the worker was killed for it. `innocent`: it
 * was still waiting its turn there.
 */
export type Part = 'blamed' | 'overdue' | 'innocent';

/**
 * What part a batch had in the death of the worker that held it. Only the oldest one was running, unless the model is
 * concurrent: then any of them may have done it, and each is tried again with no other beside it.
 */
export function partIn(worker: WorkerEntry, batch: Batch): Part {
  if (worker.isCondemned && batch === worker.overdueBatch) return 'overdue';
  if (batch.model.policy.isConcurrent) return 'blamed';
  return !worker.isCondemned && batch === worker.outstanding[0] ? 'blamed' : 'innocent';
}

/** Counts a death against a request that ran; a refusal when it is poison. Otherwise it is tried once more, alone. */
export function noteDeath(entry: RequestEntry, policy: RetryPolicy): Refusal | undefined {
  entry.deaths += 1;
  entry.isAlone = true;
  if (entry.deaths < policy.deathsMax) return undefined;
  const message = `${entry.deaths} workers died while they ran this request; it is not tried again, look at its inputs and the worker's log`;
  return { code: 'poison-request', message };
}
