/**
 * What the table of a journal holds, in memory: the heads of all logs and the keys of their records. Whoever changes a log
 * does it here, in a transaction, so that index and table agree; after a transaction that failed the index is read again.
 */
import { StoreError } from '../store-error.ts';
import { EndedLogs } from './ended-logs.ts';
import { type JournalAccount, JournalAccounts } from './journal-account.ts';
import type { JournalTable } from './journal-table.ts';
import { LogRecords, lastEntryOf } from './log-records.ts';
import {
  damaged,
  entriesFrom,
  headBytesOf,
  headFrom,
  headKeyOf,
  headPrefix,
  type LogHead,
  lastEpochKey,
  lendRecord,
  lendRecordKey,
  type RecordKey,
  recordBytesOf,
  recordKeyFrom,
  recordPrefix,
  streamFrom,
} from './record-format.ts';

/** What a record or head takes beside its value: its key and what lmdb keeps with it. */
export const rowOverheadBytes = 48;
/** What a log takes beside its records: its head, and its place in the index, which lies in memory. */
const logOverheadBytes = 1024;

/** One log. Fields change with the log. */
export interface IndexedLog {
  readonly stream: string;
  head: LogHead;
  /** The first may begin with entries that were trimmed. */
  readonly records: LogRecords;
  snapshot: RecordKey | undefined;
  /** Number of its last entry. */
  last: number;
  bytes: number;
  /** Why it cannot be read. */
  damage: StoreError | undefined;
  /** Who it counts for; undefined: nobody. */
  readonly account: JournalAccount | undefined;
}

/** What a log without entries counts for. */
export function emptyLogBytes(stream: string): number {
  return logOverheadBytes + Buffer.byteLength(stream);
}

export class LogIndex {
  readonly logs = new Map<string, IndexedLog>();
  readonly accounts: JournalAccounts = new JournalAccounts();
  /** Those of ended streams that nobody owns. */
  ended: EndedLogs = new EndedLogs();
  /** Records that belong to no log any more, or to entries that were trimmed, and are still in the table. */
  #dead: RecordKey[] = [];
  #lastEpoch = 0;
  #lastPosition = 0;
  #bytes = 0;

  /** Bytes of all logs. */
  get bytes(): number {
    return this.#bytes;
  }

  get deadRecords(): number {
    return this.#dead.length;
  }

  static read(table: JournalTable, nowMs: number, ageMsMax: number): LogIndex {
    const index = new LogIndex();
    const lives = new Map<number, IndexedLog>();
    for (const key of table.keys(headPrefix)) {
      const log = logFrom(key, table.get(key), index.accounts, nowMs, ageMsMax);
      index.logs.set(log.stream, log);
      if (log.damage === undefined) lives.set(log.head.life, log);
    }
    // Records whose head cannot be read look like those of a log that was removed, and must not be deleted.
    const isComplete = lives.size === index.logs.size;
    for (const bytes of table.keys(recordPrefix)) {
      const key = recordKeyFrom(bytes);
      index.#lastPosition = key.position;
      const log = lives.get(key.life);
      if (log !== undefined) index.#place(log, key);
      else if (isComplete) index.#dead.push(key);
    }
    for (const log of index.logs.values()) {
      if (log.damage === undefined && log.head.snapshot !== 0 && log.snapshot === undefined) {
        log.damage = damaged(`the snapshot of ${JSON.stringify(log.stream)}`, 'is missing');
      }
      index.#bytes += log.bytes;
      index.accounts.count(log.account, log.bytes);
    }
    index.ended = EndedLogs.of(index.logs.values());
    const lastEpoch = table.get(lastEpochKey);
    index.#lastEpoch = lastEpoch === undefined ? 0 : Number(Buffer.from(lastEpoch).toString());
    return index;
  }

  #place(log: IndexedLog, key: RecordKey): void {
    const isSnapshot = key.first === 0;
    const isLive = isSnapshot ? log.head.snapshot === key.position : lastEntryOf(key) > log.head.base;
    if (!isLive) {
      this.#dead.push(key);
      return;
    }
    log.bytes += costOf(key);
    if (isSnapshot) {
      log.snapshot = key;
      return;
    }
    const isNext = key.first <= log.last + 1 && (log.records.isEmpty || key.first === log.last + 1);
    if (!isNext) {
      log.damage = damaged(`the log of ${JSON.stringify(log.stream)}`, `lacks the entries after ${log.last}`);
    }
    log.records.push(key);
    log.last = lastEntryOf(key);
  }

  create(
    stream: string,
    { tag, account: name }: { readonly tag: string; readonly account: string },
    createdAtMs: number,
    expiresAtMs: number,
  ): IndexedLog {
    const head = {
      // The epoch that its first owner is about to get.
      life: this.#lastEpoch + 1,
      epoch: 0,
      owner: '',
      base: 0,
      snapshot: 0,
      createdAtMs,
      expiresAtMs,
      tag,
      entriesExpireAtMs: undefined,
      account: name,
      idle: undefined,
    };
    const account = this.accounts.of(name);
    const log = {
      stream,
      head,
      records: new LogRecords(),
      snapshot: undefined,
      last: 0,
      bytes: 0,
      damage: undefined,
      account,
    };
    this.logs.set(stream, log);
    this.#count(log, emptyLogBytes(stream));
    return log;
  }

  /** Epochs count over the whole journal: so no epoch of a stream comes again after its log was removed. */
  raiseEpoch(table: JournalTable, log: IndexedLog, owner: string): number {
    this.#lastEpoch += 1;
    table.put(lastEpochKey, Buffer.from(`${this.#lastEpoch}`));
    this.putHead(table, log, { ...log.head, epoch: this.#lastEpoch, owner });
    this.ended.remove(log);
    return this.#lastEpoch;
  }

  putHead(table: JournalTable, log: IndexedLog, head: LogHead): void {
    const key = headKeyOf(log.stream);
    table.put(key, headBytesOf(key, head));
    log.head = head;
  }

  append(table: JournalTable, log: IndexedLog, entries: readonly Uint8Array[]): void {
    const key = this.#putRecord(table, log, log.last + 1, entries);
    log.records.push(key);
    log.last = lastEntryOf(key);
  }

  trim(table: JournalTable, log: IndexedLog, to: number, snapshot: readonly Uint8Array[]): void {
    const trimmed = log.records.takeUpTo(to);
    const dropped = log.snapshot === undefined ? trimmed : [...trimmed, log.snapshot];
    log.snapshot = snapshot.length === 0 ? undefined : this.#putRecord(table, log, 0, snapshot);
    this.putHead(table, log, { ...log.head, base: to, snapshot: log.snapshot?.position ?? 0 });
    for (const key of dropped) {
      this.#count(log, -costOf(key));
      this.#dead.push(key);
    }
  }

  remove(table: JournalTable, log: IndexedLog): void {
    table.remove(headKeyOf(log.stream));
    this.logs.delete(log.stream);
    this.ended.remove(log);
    this.#count(log, -log.bytes);
    for (const key of log.records.all()) this.#dead.push(key);
    if (log.snapshot !== undefined) this.#dead.push(log.snapshot);
  }

  /** Deletes at most that many dead records, the oldest first: streams trim at about the same age, so these are neighbours on few pages. */
  collect(table: JournalTable, recordsMax: number): void {
    this.#dead.sort((one, other) => one.position - other.position);
    for (const key of this.#dead.splice(0, recordsMax)) table.remove(lendRecordKey(key));
  }

  /** What a trim would free. */
  bytesUpTo(log: IndexedLog, to: number): number {
    let bytes = log.snapshot === undefined ? 0 : costOf(log.snapshot);
    for (const key of log.records.all()) {
      if (lastEntryOf(key) > to) break;
      bytes += costOf(key);
    }
    return bytes;
  }

  /** Throws `journal-damaged` or `store-newer`. */
  contentsOf(table: JournalTable, log: IndexedLog): LogContents {
    if (log.damage !== undefined) throw log.damage;
    const entries: Uint8Array[] = [];
    for (const key of log.records.all()) {
      const trimmed = Math.max(0, log.head.base + 1 - key.first);
      for (const entry of recordEntries(table, key).slice(trimmed)) entries.push(entry);
    }
    return { snapshot: log.snapshot === undefined ? [] : recordEntries(table, log.snapshot), entries };
  }

  #putRecord(table: JournalTable, log: IndexedLog, first: number, entries: readonly Uint8Array[]): RecordKey {
    this.#lastPosition += 1;
    const bytes = recordBytesOf(entries);
    const key = { position: this.#lastPosition, life: log.head.life, first, count: entries.length, bytes };
    table.put(lendRecordKey(key), lendRecord(key, entries));
    this.#count(log, costOf(key));
    return key;
  }

  #count(log: IndexedLog, bytes: number): void {
    log.bytes += bytes;
    this.#bytes += bytes;
    this.accounts.count(log.account, bytes);
  }
}

export interface LogContents {
  readonly snapshot: readonly Uint8Array[];
  readonly entries: readonly Uint8Array[];
}

function logFrom(
  key: Uint8Array,
  value: Uint8Array | undefined,
  accounts: JournalAccounts,
  nowMs: number,
  ageMsMax: number,
): IndexedLog {
  const stream = streamFrom(key);
  const log = { stream, records: new LogRecords(), snapshot: undefined, bytes: emptyLogBytes(stream) };
  const expiresAtMax = nowMs + ageMsMax;
  try {
    const head = headFrom(key, value);
    // The time of day was set back, or the maximum was lowered.
    const expiresAtMs = Math.min(head.expiresAtMs, expiresAtMax);
    const account = accounts.of(head.account);
    return { ...log, head: { ...head, expiresAtMs }, last: head.base, damage: undefined, account };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const nothing = { life: 0, epoch: 0, owner: '', base: 0, snapshot: 0, tag: '', account: '' };
    const head = {
      ...nothing,
      entriesExpireAtMs: undefined,
      idle: undefined,
      createdAtMs: nowMs,
      expiresAtMs: expiresAtMax,
    };
    return { ...log, head, last: 0, damage: error, account: undefined };
  }
}

function recordEntries(table: JournalTable, key: RecordKey): readonly Uint8Array[] {
  return entriesFrom(key, table.get(lendRecordKey(key)));
}

function costOf({ bytes }: RecordKey): number {
  return bytes + rowOverheadBytes;
}
