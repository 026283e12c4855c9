import type { CallerQueue } from '../queues/caller-ring.ts';
import type { PriorityLevel } from '../queues/priority-level.ts';
import type { WaitingRequests } from '../queues/waiting-requests.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/** A batch that is being formed. */
interface Draft {
  readonly queue: WaitingRequests;
  readonly entries: RequestEntry[];
  readonly rowsMax: number;
  /** Requests that may still be checked. */
  checksLeft: number;
  rows: number;
  isFull: boolean;
}

/**
 * Takes the next batch from a queue that is not empty. Level by level, the most urgent first: callers take turns, each
 * with its oldest request, and the first request determines the group. A caller whose turn it is, but whose request is
 * of another group, keeps the turn and leads the next batch, so nobody is passed over for ever; the rows left are
 * filled with requests that fit, at no charge. The first request that does not fit ends the batch, so that small ones
 * do not overtake a large one. At most `lookAheadMax` requests are checked, and none of a level after the first
 * `levelsMax`: the first request is in one of these.
 */
export function takeBatch(
  queue: WaitingRequests,
  rowsMax: number,
  lookAheadMax: number,
  levelsMax = Number.POSITIVE_INFINITY,
): RequestEntry[] {
  const draft: Draft = { queue, entries: [], rowsMax, checksLeft: lookAheadMax, rows: 0, isFull: false };
  const { levels } = queue;
  for (let index = 0; index < levels.length && index < levelsMax; index++) {
    const level = levels[index] as PriorityLevel;
    if (level.requestCount === 0) continue;
    takeInTurn(draft, level);
    if (!draft.isFull && level.ring.current !== undefined) takeAlong(draft, level);
    if (!draft.isFull) takeFrom(draft, level.delayed.oldest);
    if (draft.isFull) break;
  }
  return draft.entries;
}

function takeInTurn(draft: Draft, level: PriorityLevel): void {
  const { ring } = level;
  while (!draft.isFull) {
    const queue = ring.current;
    const entry = queue?.oldest;
    if (queue === undefined || entry === undefined) return;
    if (!ring.affords(queue, entry.rows)) {
      ring.advance();
      continue;
    }
    if (!isFitting(draft, entry)) return;
    if (draft.isFull) return;
    ring.pay(queue, entry.rows);
    take(draft, entry);
  }
}

/** One round, beginning with the caller that keeps the turn. */
function takeAlong(draft: Draft, level: PriorityLevel): void {
  let queue = level.ring.current as CallerQueue;
  for (let left = level.ring.callerCount; left > 0 && !draft.isFull; left--) {
    const { next } = queue;
    takeFrom(draft, queue.oldest);
    queue = next;
  }
}

function takeFrom(draft: Draft, first: RequestEntry | undefined): void {
  let entry = first;
  while (entry !== undefined && !draft.isFull) {
    const { younger }: RequestEntry = entry;
    if (!isFitting(draft, entry)) draft.checksLeft -= 1;
    else if (!draft.isFull) take(draft, entry);
    entry = younger;
  }
}

/** Whether the request belongs to the batch's group. Ends the batch when no more requests may be checked. */
function isFitting(draft: Draft, entry: RequestEntry): boolean {
  const head = draft.entries[0];
  if (head === undefined) return true;
  if (draft.checksLeft <= 0) {
    draft.isFull = true;
    return false;
  }
  if (entry.isAlone || entry.group !== head.group) return false;
  if (draft.rows + entry.rows > draft.rowsMax) draft.isFull = true;
  return true;
}

function take(draft: Draft, entry: RequestEntry): void {
  draft.queue.remove(entry);
  draft.entries.push(entry);
  draft.rows += entry.rows;
  draft.checksLeft -= 1;
  if (entry.isAlone || draft.rows >= draft.rowsMax) draft.isFull = true;
}
