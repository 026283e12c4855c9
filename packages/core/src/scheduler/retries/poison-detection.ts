import type { Batch } from '../batches/batch.ts';
import type { WorkerEntry } from '../instances/worker-entry.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { RequestEntry } from '../requests/request-entry.ts';
import type { RetryPolicy } from './retry-policy.ts';

/**
 * `suspect`: it may be what the worker died of. `overdue`: it ran too long, and by its own doing. `innocent`: it was
 * still waiting its turn there, or ran beside what ran too long.
 */
export type Part = 'suspect' | 'overdue' | 'innocent';

/**
 * What part a batch had in the death of the worker that held it. Of a worker that died by itself everything that ran is
 * suspect. Of one that was killed, what ran too long is known; but where others ran beside it, one of them may have kept
 * the process from it, so it is only suspect: tried again with nothing beside it, it shows.
 */
export function partIn(worker: WorkerEntry, batch: Batch): Part {
  if (batch.isOverdue) return batch.hadCompany ? 'suspect' : 'overdue';
  if (worker.isCondemned || batch.startedAt === Number.POSITIVE_INFINITY) return 'innocent';
  return 'suspect';
}

/**
 * Counts a death against a request that ran, which is tried again with nothing beside it. A refusal when it is poison:
 * `isSole` says that nothing else can have been the cause, and nobody is refused for another's deaths.
 */
export function noteDeath(entry: RequestEntry, isSole: boolean, policy: RetryPolicy): Refusal | undefined {
  entry.deaths += 1;
  entry.isAlone = true;
  if (!isSole || entry.deaths < policy.deathsMax) return undefined;
  const message = `${entry.deaths} workers died while they ran this request; it is not tried again, look at its inputs and the worker's log`;
  return { code: 'poison-request', message };
}
