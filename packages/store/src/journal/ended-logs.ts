/**
 * Logs of ended streams that nobody owns, until their entries expire; in the order in which they were closed, which is
 * about that in which they are due.
 */
import type { IndexedLog } from './log-index.ts';

export class EndedLogs {
  readonly #logs = new Map<string, IndexedLog>();

  /** Of a journal that was just read. */
  static of(logs: Iterable<IndexedLog>): EndedLogs {
    const ended = new EndedLogs();
    const found = [...logs].filter(({ head }) => head.entriesExpireAtMs !== undefined);
    for (const log of found.sort((one, other) => dueAt(one) - dueAt(other))) ended.add(log);
    return ended;
  }

  /** The log has no owner any more. Nothing to do where its stream may go on, or nothing is left of it. */
  add(log: IndexedLog): void {
    this.remove(log);
    const isEmpty = log.records.length === 0 && log.snapshot === undefined;
    if (log.head.entriesExpireAtMs !== undefined && !isEmpty) this.#logs.set(log.stream, log);
  }

  /** It has an owner again, or is removed. */
  remove({ stream }: IndexedLog): void {
    this.#logs.delete(stream);
  }

  /** At most that many that are due; one that is not may hide others that were closed later, until it is. */
  takeDue(nowMs: number, max: number): readonly IndexedLog[] {
    const due: IndexedLog[] = [];
    for (const log of this.#logs.values()) {
      if (due.length === max || dueAt(log) > nowMs) break;
      due.push(log);
    }
    for (const log of due) this.remove(log);
    return due;
  }
}

function dueAt({ head }: IndexedLog): number {
  return head.entriesExpireAtMs ?? Number.POSITIVE_INFINITY;
}
