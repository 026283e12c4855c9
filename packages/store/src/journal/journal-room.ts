/**
 * Whether something fits into the bounds of a journal. The last part of the room is kept: new logs are refused first, then
 * entries; what ends a stream or shrinks its log is taken until the end, so that a full journal can be emptied.
 *
 * With S bytes for entries, F of them free and O held by an account, that account is within its share while O <= F * F / S: the
 * rule by which callers share memory. So n accounts leave S / (n + 1) free, in whatever order they came and grew.
 */
import type { JournalBounds } from '../journal.ts';
import { StoreError } from '../store-error.ts';
import type { JournalAccount } from './journal-account.ts';
import { emptyLogBytes, type IndexedLog, type LogIndex } from './log-index.ts';

const newLogsShare = 0.8;
const entriesShare = 0.9;
const checkpointsShare = 0.95;
/** New logs of an account are refused before those that it has are held back. */
const ofAccountForNewLogs = 7 / 8;
/** Logs of ended streams are removed beyond the first part of their account's share, until it holds the second: before anything is refused. */
const endedKeptTo = 3 / 4;
const endedRemovedTo = 5 / 8;
const endingEntries = 16;

export interface AppendDemand {
  readonly entries: number;
  readonly bytes: number;
  /** What was accepted for the same log before and is not in it yet. */
  readonly pendingEntries: number;
  readonly pendingBytes: number;
  readonly isEnding: boolean;
  readonly isCheckpoint: boolean;
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
  hold(account: JournalAccount | undefined, bytes: number): void {
    this.#pendingBytes += bytes;
    this.#index().accounts.hold(account, bytes);
  }

  hasShareFor(account: JournalAccount | undefined, bytes: number): boolean {
    return account === undefined || this.#heldBy(account) + bytes <= this.#shareWith(bytes);
  }

  /** How many bytes of logs of ended streams an account should lose to hold so many more; 0: none. */
  endedToRemove(account: JournalAccount, bytes: number): number {
    if (account.ended.size === 0) return 0;
    const [held, share] = [this.#heldBy(account) + bytes, this.#shareWith(bytes)];
    return held <= share * endedKeptTo ? 0 : held - share * endedRemovedTo;
  }

  problemWithNewLog(stream: string, account: string): StoreError | undefined {
    const bytes = emptyLogBytes(stream);
    const consequence = 'opens no more streams';
    // What accounts leave to each other is divided by their shares.
    if (account === '') return this.#problemInJournal(bytes, newLogsShare, consequence);
    const held = this.#heldBy(this.#index().accounts.take(account)) + bytes;
    const max = Math.floor(this.#shareWith(bytes) * ofAccountForNewLogs);
    if (held > max) return full('the streams of this caller', `${held} bytes in the journal`, max);
    return this.#problemInJournal(bytes, entriesShare, consequence);
  }

  problemWithAppend(log: IndexedLog, demand: AppendDemand): StoreError | undefined {
    const { entries, bytes, pendingEntries, pendingBytes, isEnding, isCheckpoint } = demand;
    const share = isEnding ? 1 : isCheckpoint ? checkpointsShare : entriesShare;
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

  #heldBy(account: JournalAccount | undefined): number {
    return account === undefined ? 0 : account.bytes + account.pendingBytes;
  }

  /** What an account may hold when so many bytes more are taken. */
  #shareWith(bytes: number): number {
    const size = this.#bounds.bytesMax * entriesShare;
    const free = Math.max(0, size - this.#index().bytes - this.#pendingBytes - bytes);
    return (free * free) / size;
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
