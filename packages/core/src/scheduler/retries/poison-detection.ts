import type { Batch } from '../batches/batch.ts';
import type { WorkerEntry } from '../instances/worker-entry.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { RequestEntry } from '../requests/request-entry.ts';
import type { RetryPolicy } from './retry-policy.ts';

/**
 * `suspect`: it may have caused the worker's death. `overdue`: it ran too long, by its own fault. `innocent`: it was
 * still waiting its turn there, or ran beside what ran too long.
 */
export type Part = 'suspect' | 'overdue' | 'innocent';

/**
 * The part of a batch in the death of the worker that held it. If a worker died by itself, everything that ran is
 * suspect. If it was killed, the batch that ran too long is known; but where others ran beside it, one of them may have
 * starved it, so it is only suspect: a retry with nothing beside it will tell.
 */
export function partIn(worker: WorkerEntry, batch: Batch): Part {
  if (batch.isOverdue) return batch.hadCompany ? 'suspect' : 'overdue';
  if (worker.isCondemned || batch.startedAt === Number.POSITIVE_INFINITY) return 'innocent';
  return 'suspect';
}

/** A worker's death as a request that ran on it sees it. */
export interface DeathOfWorker {
  /** Nothing else ran there that can have been the cause. */
  readonly isSole: boolean;
  /** A signal from outside ended it. */
  readonly isKilled: boolean;
}

/**
 * Counts a death against a request that ran, which is retried with nothing beside it. Returns a refusal when it is
 * poison; nobody is refused for another's deaths.
 */
export function noteDeath(entry: RequestEntry, death: DeathOfWorker, policy: RetryPolicy): Refusal | undefined {
  entry.deaths += 1;
  if (death.isKilled) entry.kills += 1;
  else if (death.isSole) entry.hasKilledWorker = true;
  entry.isAlone = true;
  const isBlamed = entry.deaths - entry.kills >= policy.deathsMax || entry.deaths >= policy.killsMax;
  if (!death.isSole || !isBlamed) return undefined;
  const message = `${entry.deaths} workers died while they ran this request, so it is not retried; check its inputs and the worker's log`;
  return { code: 'poison-request', message };
}
