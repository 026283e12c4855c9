import type { WorkerEntry } from './worker-entry.ts';
import type { WorkerHealth } from './worker-health.ts';

/**
 * Among the workers with room: the one that holds the fewest batches, then the healthiest, then the one idle for
 * longest, then the lowest id. Undefined when none has room.
 */
export function chooseWorker(
  workers: readonly WorkerEntry[],
  health: WorkerHealth,
  nowMs: number,
): WorkerEntry | undefined {
  let best: WorkerEntry | undefined;
  for (const worker of workers) {
    if (!worker.hasCredit) continue;
    if (best === undefined || isBetter(worker, best, health, nowMs)) best = worker;
  }
  return best;
}

function isBetter(worker: WorkerEntry, best: WorkerEntry, health: WorkerHealth, nowMs: number): boolean {
  if (worker.outstanding.length !== best.outstanding.length) {
    return worker.outstanding.length < best.outstanding.length;
  }
  const score = health.scoreOf(worker.health, nowMs);
  const bestScore = health.scoreOf(best.health, nowMs);
  if (score !== bestScore) return score < bestScore;
  if (worker.idleSince !== best.idleSince) return worker.idleSince < best.idleSince;
  return worker.worker < best.worker;
}
