/** Looks through a journal for what has expired, a part at a time, and deletes dead records. */
import type { JournalTable } from './journal-table.ts';
import type { IndexedLog, LogIndex } from './log-index.ts';

const sweepMs = 5000;
/** The pause after a sweep that left something. */
const sweepAgainMs = 100;
/** What one sweep looks at, removes and deletes at most; the rest waits for the next one. */
const looksMax = 1000;
const expiredMax = 64;
const endedMax = 256;
export const collectRecordsMax = 1024;
/** How long entries of ended streams stay at least after the start: nobody could ask for them before. */
const startGraceMs = 10_000;

export class JournalSweep {
  readonly #startedAtMs: number;
  readonly #expire: (table: JournalTable, log: IndexedLog) => void;
  /** Where the last one stopped. */
  #logs: Iterator<IndexedLog> | undefined;
  /** Until the next one. */
  pauseMs: number = sweepMs;

  constructor(startedAtMs: number, expire: (table: JournalTable, log: IndexedLog) => void) {
    this.#startedAtMs = startedAtMs;
    this.#expire = expire;
  }

  /** The index was read again. */
  restart(): void {
    this.#logs = undefined;
  }

  run(table: JournalTable, index: LogIndex, nowMs: number): void {
    const isBehind = [this.#removeExpired(table, index, nowMs), this.#dropEnded(table, index, nowMs)].includes(true);
    this.pauseMs = isBehind ? sweepAgainMs : sweepMs;
    index.collect(table, collectRecordsMax);
  }

  /** True: there may be more. */
  #removeExpired(table: JournalTable, index: LogIndex, nowMs: number): boolean {
    let expired = 0;
    this.#logs ??= index.logs.values();
    for (let looked = 0; looked < looksMax && expired < expiredMax; looked++) {
      const next = this.#logs.next();
      if (next.done === true) {
        this.#logs = undefined;
        break;
      }
      if (next.value.head.expiresAtMs > nowMs) continue;
      this.#expire(table, next.value);
      expired += 1;
    }
    return expired === expiredMax;
  }

  /** Of ended streams that can no longer be resumed only the ids stay. True: there may be more. */
  #dropEnded(table: JournalTable, index: LogIndex, nowMs: number): boolean {
    if (nowMs < this.#startedAtMs + startGraceMs) return false;
    const due = index.ended.takeDue(nowMs, endedMax);
    for (const log of due) index.trim(table, log, log.last, []);
    return due.length === endedMax;
  }
}
