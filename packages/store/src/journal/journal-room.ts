/**
 * Whether something fits into the bounds of a journal. The last part of the room is kept: new logs are refused first, then
 * entries; what ends a stream or shrinks its log is taken until the end, so that a full journal can be emptied.
 */
import type { JournalBounds } from '../journal.ts';
import { StoreError } from '../store-error.ts';
import { type IndexedLog, type LogIndex, rowOverheadBytes } from './log-index.ts';

const newLogsShare = 0.8;
const entriesShare = 0.9;
const endingEntries = 16;

export interface AppendDemand {
  readonly entries: number;
  readonly bytes: number;
  /** What was accepted for the same log before and is not in it yet. */
  readonly pendingEntries: number;
  readonly pendingBytes: number;
  readonly isEnding: boolean;
}

export class JournalRoom {
  readonly #bounds: JournalBounds;
  readonly #index: () => LogIndex;
  /** Bytes that were accepted and are not in the index yet. */
  #pendingBytes = 0;

  /** `index` returns the current one. */
  constructor(bounds: JournalBounds, index: () => LogIndex) {
    this.#bounds = bounds;
    this.#index = index;
  }

  get bytesMax(): number {
    return this.#bounds.bytesMax;
  }

  get ageMsMax(): number {
    return this.#bounds.logAgeMsMax;
  }

  /** Negative once they are in the index, or were refused. */
  hold(bytes: number): void {
    this.#pendingBytes += bytes;
  }

  problemWithNewLog(stream: string): StoreError | undefined {
    const bytes = rowOverheadBytes + Buffer.byteLength(stream);
    return this.#problemInJournal(bytes, newLogsShare, 'opens no more streams');
  }

  problemWithAppend(log: IndexedLog, demand: AppendDemand): StoreError | undefined {
    const { entries, bytes, pendingEntries, pendingBytes, isEnding } = demand;
    const share = isEnding ? 1 : entriesShare;
    const { logBytesMax, logEntriesMax } = this.#bounds;
    const logEntries = log.last - log.head.base + pendingEntries + entries;
    const entriesKept = isEnding ? 0 : Math.min(endingEntries, Math.floor(logEntriesMax / 2));
    if (logEntries > logEntriesMax - entriesKept) {
      return full(`the log of ${JSON.stringify(log.stream)}`, `${logEntries} entries`, logEntriesMax - entriesKept);
    }
    const logBytes = log.bytes + pendingBytes + bytes;
    if (logBytes > logBytesMax * share) {
      return full(`the log of ${JSON.stringify(log.stream)}`, `${logBytes} bytes`, Math.floor(logBytesMax * share));
    }
    return this.#problemInJournal(bytes, share, 'takes no more entries');
  }

  /** `freed`: what the trim drops. */
  problemWithTrim(log: IndexedLog, bytes: number, freed: number): StoreError | undefined {
    const growth = bytes - freed;
    if (growth <= 0) return undefined;
    const { logBytesMax } = this.#bounds;
    if (log.bytes + growth > logBytesMax) {
      const size = `${log.bytes + growth} bytes with its snapshot`;
      return full(`the log of ${JSON.stringify(log.stream)}`, size, logBytesMax);
    }
    return this.#problemInJournal(growth, 1, 'takes no larger snapshot');
  }

  #problemInJournal(bytes: number, share: number, consequence: string): StoreError | undefined {
    const used = this.#index().bytes + this.#pendingBytes + bytes;
    const max = Math.floor(this.#bounds.bytesMax * share);
    return used <= max ? undefined : full('the journal', `${used} bytes and ${consequence}`, max);
  }
}

function full(what: string, size: string, max: number): StoreError {
  const advice = 'let clients acknowledge outputs, wait until streams end and expire, or raise the maximum';
  return new StoreError('journal-full', `${what} would have ${size}; the maximum is ${max}: ${advice}`);
}
