import type { ModelQueue } from './model-queue.ts';
import type { RequestEntry } from './request-entry.ts';

/**
 * Takes the next batch off a queue that is not empty. The oldest request always goes, so nobody is overtaken for ever;
 * later ones of its group come along in their order. The first of them that does not fit ends the batch, lest small
 * requests overtake a large one. At most `lookAheadMax` requests are looked at.
 */
export function takeBatch(queue: ModelQueue, rowsMax: number, lookAheadMax: number): RequestEntry[] {
  const head = queue.oldest as RequestEntry;
  const entries = [head];
  let rows = head.rows;
  let candidate = head.younger;
  queue.remove(head);
  if (head.isAlone) return entries;
  for (let looked = 1; candidate !== undefined && rows < rowsMax && looked < lookAheadMax; looked++) {
    const younger: RequestEntry | undefined = candidate.younger;
    if (!candidate.isAlone && candidate.group === head.group) {
      rows += candidate.rows;
      if (rows > rowsMax) break;
      queue.remove(candidate);
      entries.push(candidate);
    }
    candidate = younger;
  }
  return entries;
}
