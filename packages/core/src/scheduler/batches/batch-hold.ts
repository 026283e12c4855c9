import type { ModelPolicy } from '../../model-policy.ts';
import type { WaitingRequests } from '../queues/waiting-requests.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/** What a model with a delay does with a free worker. */
export type HoldDecision =
  /** Nothing before this time, unless more requests arrive. */
  | { readonly kind: 'wait'; readonly until: number }
  /** These, which add up to a preferred size. */
  | { readonly kind: 'take-these'; readonly entries: RequestEntry[] }
  /** As many rows as fit. */
  | { readonly kind: 'take'; readonly rowsMax: number };

/**
 * Whether the next batch of a model with a `delayMs` is held back for more requests: only while it could still grow.
 * Run at once, as in Triton: a batch of a preferred size, one that reaches the largest preferred size (without sizes:
 * `rowsMax`), and one that leaves other requests behind.
 */
export function decideHold(
  queue: WaitingRequests,
  policy: ModelPolicy,
  lookAheadMax: number,
  nowMs: number,
): HoldDecision {
  const { preferredRows, rowsMax, delayMs } = policy;
  const whole: HoldDecision = { kind: 'take', rowsMax };
  if (queue.rowCount >= rowsMax) {
    const head = queue.head as RequestEntry;
    const isInTime = nowMs < head.arrivedAt + delayMs;
    return isInTime ? { kind: 'take', rowsMax: preferredRows.at(-1) ?? rowsMax } : whole;
  }
  if (queue.requestCount > lookAheadMax) return whole;
  const entries = queue.entries();
  const { group } = entries[0] as RequestEntry;
  let oldestAt = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    if (entry.isAlone || entry.group !== group) return whole;
    oldestAt = Math.min(oldestAt, entry.arrivedAt);
  }
  const until = oldestAt + delayMs;
  if (until <= nowMs) return whole;
  const preferred = takePreferred(entries, preferredRows);
  return preferred === undefined ? { kind: 'wait', until } : { kind: 'take-these', entries: preferred };
}

/**
 * The first requests, by level and age, that add up to a preferred size, as large as possible. If none does and the rows
 * reach the largest size: as many requests as that size holds, but at least one.
 */
function takePreferred(entries: RequestEntry[], preferredRows: readonly number[]): RequestEntry[] | undefined {
  const largest = preferredRows.at(-1);
  if (largest === undefined) return undefined;
  entries.sort(byLevelAndAge);
  let rows = 0;
  let count = 0;
  for (const [index, entry] of entries.entries()) {
    rows += entry.rows;
    if (preferredRows.includes(rows)) count = index + 1;
    else if (rows > largest && count === 0) count = Math.max(index, 1);
  }
  return count === 0 ? undefined : entries.slice(0, count);
}

function byLevelAndAge(left: RequestEntry, right: RequestEntry): number {
  if (left.level !== right.level) return left.level - right.level;
  if (left.isDelayed !== right.isDelayed) return left.isDelayed ? 1 : -1;
  return left.arrival - right.arrival;
}
