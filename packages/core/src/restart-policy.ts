/** A pause before each attempt after a failure; each doubles the one before, up to the maximum. */
export interface GrowingPause {
  readonly pauseMs: number;
  readonly pauseMsMax: number;
}

/** The pause after so many failures in a row. `jitter`, in [0, 1), spreads it over its upper half. */
export function pauseAfter(failures: number, jitter: number, { pauseMs, pauseMsMax }: GrowingPause): number {
  return Math.min(pauseMs * 2 ** (failures - 1), pauseMsMax) * (0.5 + 0.5 * jitter);
}

/**
 * When a dead worker is restarted: the first time at once, because one death is an accident; then after pauses that
 * double, because several are a pattern, and a machine busy with starting doomed processes serves nobody. The count is
 * reset for a worker that stayed alive for a while or answered a batch. A pattern that persists is a crash loop: its
 * model should be reported not ready, while the attempts continue at the longest pause.
 */
export interface RestartPolicy extends GrowingPause {
  /** A worker that was up for this long has its count of deaths reset. */
  readonly stableMs: number;
  /** Deaths in a row that make a crash loop. */
  readonly crashLoopDeaths: number;
}

export const defaultRestartPolicy: RestartPolicy = Object.freeze({
  pauseMs: 100,
  pauseMsMax: 10_000,
  stableMs: 30_000,
  crashLoopDeaths: 5,
});

/** What is remembered of a worker between restarts. */
export interface RestartRecord {
  /** Deaths in a row, none of them after useful uptime. */
  readonly deaths: number;
}

export const cleanRestartRecord: RestartRecord = Object.freeze({ deaths: 0 });

export interface Restart {
  readonly record: RestartRecord;
  readonly pauseMs: number;
  readonly isCrashLoop: boolean;
}

/** The uptime of a worker that died. */
export interface WorkerLife {
  /** From the end of its loads; 0 if it died before. Time spent on a failed load does not count as uptime. */
  readonly aliveMs: number;
  readonly batchesAnswered: number;
}

/**
 * What to do about a death. Stable uptime, or a single answer, resets the count: something killed a worker that works,
 * and its callers should not wait for another. `jitter`, in [0, 1), spreads a pause over its upper half, so that
 * workers that died together are not restarted together.
 */
export function restartAfter(
  record: RestartRecord,
  life: WorkerLife,
  jitter: number,
  policy: RestartPolicy = defaultRestartPolicy,
): Restart {
  const wasUseful = life.aliveMs >= policy.stableMs || life.batchesAnswered > 0;
  const deaths = wasUseful ? 1 : record.deaths + 1;
  return {
    record: { deaths },
    pauseMs: deaths <= 1 ? 0 : pauseAfter(deaths - 1, jitter, policy),
    isCrashLoop: deaths >= policy.crashLoopDeaths,
  };
}
