/**
 * When a dead worker is started again: the first time at once, because one death is an accident; then after pauses that
 * double, because several are a pattern, and a machine busy with starting doomed processes serves nobody. A worker that
 * stayed alive for a while, or answered a batch, is forgiven. A pattern that holds on is called a crash loop: its model should be reported not
 * ready, while the attempts go on at the longest pause.
 */
export interface RestartPolicy {
  /** The pause before the second restart; each later one doubles it. */
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** A worker that lived this long starts with a clean record. */
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

/** What is remembered of a worker between its lives. */
export interface RestartRecord {
  /** Deaths in a row, none of them after a useful life. */
  readonly deaths: number;
}

export const cleanRestartRecord: RestartRecord = Object.freeze({ deaths: 0 });

export interface Restart {
  readonly record: RestartRecord;
  readonly pauseMs: number;
  readonly isCrashLoop: boolean;
}

/** What a worker did with its life. */
export interface WorkerLife {
  /** From its start, so a slow load that fails counts as lived only if it outlasts `stableMs`. */
  readonly aliveMs: number;
  readonly batchesAnswered: number;
}

/**
 * What to do about a death. A life that was stable, or answered anything, wipes the record: something killed a worker
 * that works, and its callers should not wait for another. `jitter`, in [0, 1), spreads a pause over its upper half, so that workers which
 * died together do not come back together.
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
    pauseMs: pauseBefore(deaths, jitter, policy),
    isCrashLoop: deaths >= policy.crashLoopDeaths,
  };
}

function pauseBefore(deaths: number, jitter: number, policy: RestartPolicy): number {
  if (deaths <= 1) return 0;
  const pauseMs = Math.min(policy.pauseMs * 2 ** (deaths - 2), policy.pauseMsMax);
  return pauseMs * (0.5 + 0.5 * jitter);
}
