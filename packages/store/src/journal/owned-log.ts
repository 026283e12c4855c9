/** A log in the hands of its owner: appends and trims as changes of the journal's commit queue, in the order of the calls. */
import assert from 'node:assert';
import type { AppendOptions, CloseLogOptions, FenceListener, IdleNote, StreamLog } from '../journal.ts';
import type { StoreClock } from '../store-clock.ts';
import { StoreError } from '../store-error.ts';
import type { CommitQueue, JournalChange } from './commit-queue.ts';
import type { JournalAccount } from './journal-account.ts';
import type { JournalRoom } from './journal-room.ts';
import type { JournalTable } from './journal-table.ts';
import { type IndexedLog, type LogContents, type LogIndex, rowOverheadBytes } from './log-index.ts';
import { recordBytesOf } from './record-format.ts';

export interface LogContext {
  readonly queue: CommitQueue;
  readonly room: JournalRoom;
  readonly clock: StoreClock;
  /** The current one. */
  readonly index: () => LogIndex;
  /** The log is no longer owned. */
  readonly onGivenUp: (log: OwnedLog) => void;
  /** The account of the log holds more than before. */
  readonly onGrown: (account: JournalAccount) => void;
}

export const unreadContents: LogContents = { snapshot: [], entries: [] };
const nothing = unreadContents;

interface AppendCall {
  /** Number of its last entry, within the entries of the change. */
  readonly end: number;
  readonly resolve: (last: number) => void;
  readonly reject: (error: StoreError) => void;
}

export class OwnedLog implements StreamLog {
  readonly stream: string;
  readonly epoch: number;
  readonly base: number;
  readonly expiresAtMs: number;
  readonly idle: IdleNote | undefined;
  readonly log: IndexedLog;
  readonly #context: LogContext;
  #contents: LogContents;
  /** Accepted and not in the log yet. */
  #pendingEntries = 0;
  #pendingBytes = 0;
  /** To which number trims were requested. */
  #trimmedTo: number;
  /** The last change that was requested, if it is an append that has not begun. */
  #open: AppendChange | undefined;
  /** Why no call takes effect any more. */
  #ended: StoreError | undefined;
  /** Why no more calls are taken; those made before take effect. */
  #refused: StoreError | undefined;
  /** Why only endings are taken. */
  #full: StoreError | undefined;
  #isFenced: boolean = false;
  #fenceListener: FenceListener | undefined;

  constructor(log: IndexedLog, contents: LogContents, context: LogContext) {
    this.log = log;
    this.stream = log.stream;
    this.epoch = log.head.epoch;
    this.base = log.head.base;
    this.expiresAtMs = log.head.expiresAtMs;
    this.idle = log.head.idle;
    // A new log keeps no empty lists of its own.
    this.#contents = contents.entries.length + contents.snapshot.length === 0 ? nothing : contents;
    this.#trimmedTo = log.head.base;
    this.#context = context;
  }

  get snapshot(): readonly Uint8Array[] {
    return this.#contents.snapshot;
  }

  get entries(): readonly Uint8Array[] {
    return this.#contents.entries;
  }

  hasShareFor(bytes: number): boolean {
    return this.#context.room.hasShareFor(this.log.account, bytes);
  }

  append(entries: readonly Uint8Array[], options: AppendOptions = {}): Promise<number> {
    const ended = this.#refused ?? this.#ended;
    if (ended !== undefined) return Promise.reject(ended);
    const bytes = entries.length === 0 ? 0 : rowOverheadBytes + recordBytesOf(entries);
    const problem = entries.length === 0 ? undefined : this.#problemWith(entries.length, bytes, options);
    if (problem !== undefined) {
      this.#full ??= problem;
      return Promise.reject(problem);
    }
    this.#hold(entries.length, bytes);
    this.#open ??= this.#openChange();
    if (this.log.account !== undefined) this.#context.onGrown(this.log.account);
    return this.#open.add(entries, bytes, options.expectsMore === true);
  }

  #problemWith(entries: number, bytes: number, options: AppendOptions): StoreError | undefined {
    const { isEnding = false, isCheckpoint = false } = options;
    if (this.#full !== undefined && !isEnding) return this.#full;
    return this.#context.room.problemWithAppend(this.log, {
      entries,
      bytes,
      pendingEntries: this.#pendingEntries,
      pendingBytes: this.#pendingBytes,
      isEnding,
      isCheckpoint,
    });
  }

  #openChange(): AppendChange {
    const change = new AppendChange(this);
    this.#context.queue.add(change);
    return change;
  }

  trim(to: number, snapshot: readonly Uint8Array[]): void {
    assert(Number.isInteger(to) && to >= this.#trimmedTo, `trim to ${to}, after one to ${this.#trimmedTo}`);
    assert(to <= this.log.last, `trim to ${to}, beyond the last committed entry ${this.log.last}`);
    this.#trimmedTo = to;
    this.#contents = nothing;
    const bytes = snapshot.length === 0 ? 0 : rowOverheadBytes + recordBytesOf(snapshot);
    this.#request(bytes, (table, index) => {
      const freed = index.bytesUpTo(this.log, to);
      const problem = this.#context.room.problemWithTrim(this.log, bytes, freed);
      if (problem === undefined) index.trim(table, this.log, to, snapshot);
      else this.#full ??= problem;
    }).catch(() => {});
  }

  noteIdle(idle: IdleNote | undefined): Promise<void> {
    return this.#request(0, (table, index) => index.putHead(table, this.log, { ...this.log.head, idle }));
  }

  async close({ remove = false, expiresAtMs, entriesExpireAtMs }: CloseLogOptions = {}): Promise<void> {
    await this.#request(0, (table, index) => {
      const { head } = this.log;
      if (remove) index.remove(table, this.log);
      else {
        const closed = {
          ...head,
          expiresAtMs: Math.min(head.expiresAtMs, expiresAtMs ?? head.expiresAtMs),
          entriesExpireAtMs: entriesExpireAtMs ?? head.entriesExpireAtMs,
        };
        const isSame = closed.expiresAtMs === head.expiresAtMs && closed.entriesExpireAtMs === head.entriesExpireAtMs;
        if (!isSame) index.putHead(table, this.log, closed);
        index.ended.add(this.log);
      }
      this.giveUp(
        new StoreError('journal-fenced', `the log of ${JSON.stringify(this.stream)} was closed by its owner`),
      );
    });
  }

  #request(bytes: number, apply: (table: JournalTable, index: LogIndex) => void): Promise<void> {
    if (this.#refused !== undefined) return Promise.reject(this.#refused);
    this.#open = undefined;
    return new Promise((resolve, reject) => {
      let refusal: StoreError | undefined;
      this.#context.queue.add({
        bytes,
        canWait: false,
        apply: (table) => {
          refusal = this.checkOwned();
          if (refusal === undefined) apply(table, this.#context.index());
        },
        settle: (error) => {
          const problem = refusal ?? error;
          if (problem === undefined) resolve();
          else reject(problem);
        },
      });
    });
  }

  /** No call takes effect from here on, also of those that were made before. */
  giveUp(reason: StoreError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#context.onGivenUp(this);
  }

  refuseCalls(reason: StoreError): void {
    this.#refused = reason;
  }

  tellWhenFenced(listener: FenceListener): void {
    if (this.#isFenced) queueMicrotask(() => listener.onFenced());
    else this.#fenceListener = listener;
  }

  tellFenced(): void {
    this.#isFenced = true;
    const listener = this.#fenceListener;
    this.#fenceListener = undefined;
    // Later: a transaction may be under way.
    if (listener !== undefined) queueMicrotask(() => listener.onFenced());
  }

  checkOwned(): StoreError | undefined {
    if (this.#ended === undefined && this.#context.clock.now() >= this.log.head.expiresAtMs) {
      this.giveUp(new StoreError('journal-fenced', `the log of ${JSON.stringify(this.stream)} has expired`));
      this.tellFenced();
    }
    return this.#ended;
  }

  #hold(entries: number, bytes: number): void {
    this.#pendingEntries += entries;
    this.#pendingBytes += bytes;
    this.#context.room.hold(this.log.account, bytes);
  }

  /** Nothing more can be added to the change, and it no longer counts as pending. */
  release(change: AppendChange): void {
    if (this.#open === change) this.#open = undefined;
    this.#hold(-change.entries.length, -change.bytes);
  }

  write(entries: readonly Uint8Array[], table: JournalTable): StoreError | undefined {
    const refusal = this.checkOwned();
    if (refusal === undefined && entries.length > 0) this.#context.index().append(table, this.log, entries);
    return refusal;
  }
}

/** The appends of one log that share a record. */
class AppendChange implements JournalChange {
  readonly #log: OwnedLog;
  readonly entries: Uint8Array[] = [];
  readonly #calls: AppendCall[] = [];
  bytes = 0;
  canWait: boolean = true;
  #isReleased: boolean = false;
  #refusal: StoreError | undefined;
  #last = 0;

  constructor(log: OwnedLog) {
    this.#log = log;
  }

  add(entries: readonly Uint8Array[], bytes: number, canWait: boolean): Promise<number> {
    for (const entry of entries) this.entries.push(entry);
    this.bytes += bytes;
    this.canWait &&= canWait;
    return new Promise((resolve, reject) => {
      this.#calls.push({ end: this.entries.length, resolve, reject });
    });
  }

  apply(table: JournalTable): void {
    this.#release();
    this.#refusal = this.#log.write(this.entries, table);
    this.#last = this.#log.log.last;
  }

  #release(): void {
    if (!this.#isReleased) this.#log.release(this);
    this.#isReleased = true;
  }

  settle(error?: StoreError): void {
    // A transaction that failed may not have come to it.
    this.#release();
    const problem = this.#refusal ?? error;
    const first = this.#last - this.entries.length;
    for (const { end, resolve, reject } of this.#calls) {
      if (problem === undefined) resolve(first + end);
      else reject(problem);
    }
  }
}
