/** How the cores of the machine are divided among the workers that compute on them. */

import type { ThreadShare } from '@millrace/router/internal';

/** With as many cores a spinning engine leaves one for the router. */
const coresToSpinMin = 4;

/**
 * Every instance gets an equal share, at least one thread. Spinning saves some microseconds a run for the only
 * model on a machine with free cores; elsewhere it takes cores from other runs.
 */
export function shareThreads(
  models: readonly { readonly versions: readonly unknown[]; readonly instanceCount: number }[],
  cores: number,
  chosen: number | 'auto',
): ThreadShare {
  let instances = 0;
  for (const { versions, instanceCount } of models) instances += versions.length * instanceCount;
  const threads = chosen === 'auto' ? Math.max(1, Math.floor(cores / Math.max(1, instances))) : chosen;
  return { threads, isSpinning: instances === 1 && threads > 1 && cores >= coresToSpinMin };
}
