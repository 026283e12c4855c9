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

  /** The log has no owner any more. Nothing to do where its stream may go on; where nothing is left of it, only its account is told. */
  add(log: IndexedLog): void {
    this.remove(log);
    if (log.head.entriesExpireAtMs === undefined) return;
    log.account?.ended.set(log.stream, log);
    log.records.pack();
    const isEmpty = log.records.isEmpty && log.snapshot === undefined;
    if (!isEmpty) this.#logs.set(log.stream, log);
  }

  /** It has an owner again, or is removed. */
  remove({ stream, account }: IndexedLog): void {
    this.#logs.delete(stream);
    account?.ended.delete(stream);
  }

  /** At most that many that are due; one that is not may hide others that were closed later, until it is. */
  takeDue(nowMs: number, max: number): readonly IndexedLog[] {
    const due: IndexedLog[] = [];
    for (const log of this.#logs.values()) {
      if (due.length === max || dueAt(log) > nowMs) break;
      due.push(log);
    }
    for (const { stream } of due) this.#logs.delete(stream);
    return due;
  }
}

function dueAt({ head }: IndexedLog): number {
  return head.entriesExpireAtMs ?? Number.POSITIVE_INFINITY;
}
