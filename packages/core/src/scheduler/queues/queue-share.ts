import { leavesEnough } from '../../memory/memory-share.ts';
import type { ModelEntry } from '../models/model-entry.ts';

/**
 * Whether a request more is within its caller's share of the queue, of a model whose callers have a limited number of runs:
 * requests of a caller that is at its limit may wait for as long as it likes, and must not fill the queue for others. The
 * rule is that of its runs (`caller-runs.ts`). `level` counts from 0.
 */
export function isWithinShare(caller: string, { queue, policy }: ModelEntry, level: number): boolean {
  if (caller === '') return true;
  let requestCount = 0;
  let byteCount = 0;
  for (const { ring, delayed } of queue.levels) {
    requestCount += ring.rowsOf(caller);
    byteCount += ring.bytesOf(caller);
    for (let entry = delayed.oldest; entry !== undefined; entry = entry.younger) {
      if (entry.caller !== caller) continue;
      requestCount += 1;
      byteCount += entry.bytes;
    }
  }
  const { queueRequestsMax, queueBytesMax } = policy;
  if (!leavesEnough(queueRequestsMax, requestCount, queueRequestsMax - queue.requestCount)) return false;
  if (!leavesEnough(queueBytesMax, byteCount, queueBytesMax - queue.byteCount)) return false;
  const requestsMax = policy.queues[level]?.requestsMax ?? Number.POSITIVE_INFINITY;
  const at = queue.levels[level];
  if (at === undefined || requestsMax === Number.POSITIVE_INFINITY) return true;
  return leavesEnough(requestsMax, at.ring.rowsOf(caller), requestsMax - at.requestCount);
}
