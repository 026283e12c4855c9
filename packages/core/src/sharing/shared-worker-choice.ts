import type { SharingPolicy } from './sharing-policy.ts';

/**
 * Chooses the worker that gets a further model, by the number of models that each holds: the position of the emptiest, or
 * undefined for a new worker.
 */
export function chooseSharedWorker(models: readonly number[], policy: SharingPolicy): number | undefined {
  if (models.length < policy.spreadWorkers) {
    // A worker that lost its last model is not yet gone.
    const empty = models.indexOf(0);
    return empty >= 0 ? empty : undefined;
  }
  let emptiest: number | undefined;
  for (const [position, count] of models.entries()) {
    if (count >= policy.modelsMax) continue;
    if (emptiest === undefined || count < (models[emptiest] as number)) emptiest = position;
  }
  return emptiest;
}
