import { assert } from '../assert.ts';
import type { GrowingPause } from '../restart-policy.ts';

export interface KeeperConfig {
  /** Loads in progress at once: one model's load waits for another's only when this many are in progress. */
  readonly loadsMax: number;
  /** Requests that may wait for one context to be loaded again. */
  readonly demandWaitersMax: number;
  /**
   * How long a context that was just loaded is protected from others' demand: a busy one is drained only after this,
   * so that more busy contexts than fit take turns instead of being loaded for one request each.
   */
  readonly residencyMsMin: number;
  /** How long contexts that nobody waits for are held back, at most, while those of open streams load. */
  readonly headStartMs: number;
  /** Before a failed load is retried. */
  readonly retry: GrowingPause;
}

export const defaultKeeperConfig: KeeperConfig = Object.freeze({
  loadsMax: 4,
  demandWaitersMax: 1024,
  residencyMsMin: 1000,
  headStartMs: 5000,
  retry: Object.freeze({ pauseMs: 1000, pauseMsMax: 60_000 }),
});

export function resolveKeeperConfig(options: Partial<KeeperConfig>): KeeperConfig {
  const config = Object.freeze({ ...defaultKeeperConfig, ...options });
  assert(config.loadsMax >= 1, 'loadsMax is at least 1');
  assert(config.demandWaitersMax >= 1, 'demandWaitersMax is at least 1');
  assert(config.residencyMsMin >= 0, 'residencyMsMin is not negative');
  assert(config.headStartMs >= 0, 'headStartMs is not negative');
  return config;
}
