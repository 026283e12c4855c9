import type { PriorityLevel } from '../queues/priority-level.ts';
import type { WaitingRequests } from '../queues/waiting-requests.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/**
 * Takes the next request that may run, of a model whose callers have a limited number of runs; undefined when none may.
 * Level by level, the most urgent first, at most `levelsMax` of them. Callers take turns; one whose requests may not run is
 * overtaken and loses its turn, so that it saves up nothing meanwhile.
 */
export function takeRun(
  queue: WaitingRequests,
  mayRun: (entry: RequestEntry) => boolean,
  levelsMax = Number.POSITIVE_INFINITY,
): RequestEntry | undefined {
  for (let index = 0; index < queue.levels.length && index < levelsMax; index++) {
    const level = queue.levels[index] as PriorityLevel;
    const entry = nextInTurn(level, mayRun) ?? nextDelayed(level, mayRun);
    if (entry === undefined) continue;
    queue.remove(entry);
    return entry;
  }
  return undefined;
}

/** Each turn is for one request: a request of such a model is one row. */
function nextInTurn({ ring }: PriorityLevel, mayRun: (entry: RequestEntry) => boolean): RequestEntry | undefined {
  for (let left = ring.callerCount; left > 0; left--) {
    const current = ring.current;
    const entry = current?.oldest;
    if (current === undefined || entry === undefined) return undefined;
    if (mayRun(entry)) {
      ring.pay(current, entry.rows);
      if (!ring.affords(current, entry.rows)) ring.advance();
      return entry;
    }
    ring.skip();
  }
  return undefined;
}

function nextDelayed({ delayed }: PriorityLevel, mayRun: (entry: RequestEntry) => boolean): RequestEntry | undefined {
  let entry = delayed.oldest;
  while (entry !== undefined && !mayRun(entry)) entry = entry.younger;
  return entry;
}
