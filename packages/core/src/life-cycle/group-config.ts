import { assert } from '../assert.ts';
import { defaultRestartPolicy, type GrowingPause, type RestartPolicy } from '../restart-policy.ts';

export interface GroupConfig {
  /** A worker whose loads have not ended, in success or failure, within this time is killed. */
  readonly loadMsMax: number;
  /** How long a worker that was told to stop, and has nothing left to run, may take to exit. */
  readonly stopMsMax: number;
  /** How long a batch of the group's models may run: a worker that is no longer needed finishes what it holds. */
  readonly runMsMax: number;
  /** Before a worker is given a model again that it could not load. */
  readonly reload: GrowingPause;
  /** Before a worker that exited is replaced. */
  readonly restart: RestartPolicy;
  /** The models were in a crash loop, or could not be loaded, before: the first exit without a load counts as a crash loop. */
  readonly isRetry: boolean;
}

export const defaultGroupConfig: GroupConfig = Object.freeze({
  loadMsMax: 300_000,
  stopMsMax: 5000,
  runMsMax: 60_000,
  reload: Object.freeze({ pauseMs: 5000, pauseMsMax: 60_000 }),
  restart: defaultRestartPolicy,
  isRetry: false,
});

export function resolveGroupConfig(options: Partial<GroupConfig>): GroupConfig {
  const config = Object.freeze({ ...defaultGroupConfig, ...options });
  assert(config.loadMsMax > 0, 'loadMsMax is positive');
  assert(config.stopMsMax >= 0, 'stopMsMax is not negative');
  assert(config.runMsMax >= 0, 'runMsMax is not negative');
  return config;
}
