/**
 * The seam between the router and the durable record of its streams. A log belongs to one stream: entries (opaque bytes)
 * numbered 1, 2, 3…, appended by one owner at a time. Memory and lmdb implement it, later a journal that is replicated
 * over several servers; one contract suite checks them all.
 *
 * What callers rely on:
 * - **Committed is found again.** An entry whose `append` resolved is in every later log that `takeOver` or `peek` returns,
 *   with the same number and bytes, as long as the journal's durability promises, until it is trimmed or the log expires.
 * - **No holes.** Entries become durable in the order of the calls, whatever the number in flight; a log ends somewhere, and
 *   everything before is there. An entry that is damaged on disk makes the log unreadable (`journal-damaged`), never shorter.
 * - **Unknown outcomes.** An append that was not acknowledged (the process died, or it rejected with `store-failed` or
 *   `store-unavailable`) may be in the log or not. Whoever needs to know takes the log over: what `takeOver` returned is
 *   exact and durable, an entry in it never disappears again and one that is absent never appears. Until then nothing that
 *   depends on such an entry may be sent.
 * - **Fencing.** `takeOver` raises the epoch by compare-and-set. From the moment it resolves, no append, trim or removal by an
 *   earlier owner takes effect, wherever that owner runs: its calls reject with `journal-fenced`. Epochs of one stream id only rise, also over a
 *   removal of its log, so an owner of an earlier life of the id is fenced as well.
 * - **An idle owner is not told** of a take-over by another process. An empty `append` checks: it rejects if fenced.
 * - **Several copies.** A replicated journal may find different ends of a log in several places; it returns one of them,
 *   and has made it the only one before `takeOver` resolves. `peek` promises less: entries at the end may be missing,
 *   and may be others after the next take-over, so what it returned decides nothing but whether to take over.
 * - **Shares.** Logs count for accounts. An account may hold F² / S bytes, where F of the S bytes for entries are free; beyond it
 *   no log is created for it (`journal-full`), and its owners see it by `hasShareFor`. Logs of ended streams count as well: they are
 *   removed, the oldest first, before anything of their account is refused.
 * - **Bounds.** Bytes, entries and age of a log and bytes of the whole journal have a maximum; at it, `journal-full`.
 *   Part of it is kept for entries that end a stream and for trims, so that a full journal can be emptied.
 *
 * Bytes handed in must not be changed until the call has settled; those of a trim, until the log is closed or a later append
 * has resolved. Every error is a `StoreError`.
 */
export interface Journal {
  /**
   * Becomes the owner of the log, and reads it. Undefined: there is none (unknown, removed or expired) and `create` was not
   * given, or its epoch is not the expected one; then nothing was changed and no owner was fenced.
   */
  takeOver(stream: string, owner: string, options?: TakeOverOptions): Promise<StreamLog | undefined>;
  /** Reads without taking over; undefined: there is none. */
  peek(stream: string): Promise<StreamLogView | undefined>;
  /** All logs that have not expired, by the bytes of their stream ids: for the start after a crash, and for operators. */
  list(): Promise<readonly StreamLogSummary[]>;
  /** A text that belongs to no log, as `writeNote` left it; undefined: none. */
  readNote(name: string): Promise<string | undefined>;
  /** Resolves when it is durable. Undefined removes it. */
  writeNote(name: string, text: string | undefined): Promise<void>;
  usage(): JournalUsage;
  /** What was appended before is durable or has failed when it resolves; logs stay, without owner. */
  close(): Promise<void>;
}

export interface TakeOverOptions {
  /** Creates an empty log if there is none; `journal-full` when the journal has no room for another. */
  readonly create?: boolean;
  /**
   * Takes over only at this epoch, as `peek` showed it; 0: only if there is no log. So the opening of a log can be read and
   * judged before its owner is fenced, and it is still the same log then.
   */
  readonly expectedEpoch?: number;
  /** Leaves the contents unread, which are empty in the log then: for one that cannot be read without harm. */
  readonly isUnread?: boolean;
  /** When a log that is created expires, in milliseconds since 1970; at most, and unless given, the maximum age from now. */
  readonly expiresAtMs?: number;
  /** What `list` says of a log that is created, without reading it; empty unless given. */
  readonly tag?: string;
  /**
   * Who a log that is created counts for: no account can deny others more than its share of the journal. Empty, unless given:
   * nobody, and only the bounds of the whole journal hold for it.
   */
  readonly account?: string;
}

/** A log as its owner holds it. All calls take effect in the order in which they are made. */
export interface StreamLog {
  readonly stream: string;
  readonly epoch: number;
  /** Entries up to this number were trimmed at the time of the take-over. */
  readonly base: number;
  /** What the last trim put in the place of the entries up to `base`. Released, as the entries, by the first trim. */
  readonly snapshot: readonly Uint8Array[];
  /** The entries from `base` + 1 on, at the time of the take-over. */
  readonly entries: readonly Uint8Array[];
  readonly expiresAtMs: number;
  /**
   * Whether so many bytes more are within the share of the log's account. Otherwise its owner should append nothing but
   * checkpoints and endings: what it appends is taken as long as the whole journal has room, at the cost of nobody else's share.
   */
  hasShareFor(bytes: number): boolean;
  /**
   * Resolves with the number of the last of these entries, once they are durable. Rejections:
   * - `journal-full`: nothing of it was kept, and the log takes no other entries any more than those of an append with
   *   `isEnding`, so that no later entry can stand where a refused one is missing;
   * - `journal-fenced`: another owner has taken over, or the log was removed or has expired;
   * - `store-failed`, `store-unavailable`: unknown whether it was kept; the log takes no more calls.
   */
  append(entries: readonly Uint8Array[], options?: AppendOptions): Promise<number>;
  /**
   * Drops the entries up to the number `to`, which must be committed, and puts `snapshot` in their place; in one step, in
   * the order of the appends. A trim that failed changed nothing; the next append says why.
   */
  trim(to: number, snapshot: readonly Uint8Array[]): void;
  /** As it was noted last when the log was taken over; undefined: its stream had a client, or none yet. */
  readonly idle: IdleNote | undefined;
  /** Says since when the stream of the log has no client, in the order of the appends. Resolves when that is durable. */
  noteIdle(idle: IdleNote | undefined): Promise<void>;
  /** Tells this listener, in a later microtask, when this owner knows that it is none any more; never, if it closes the log before. */
  tellWhenFenced(listener: FenceListener): void;
  /** Gives up the ownership, after everything appended before is durable or has failed. */
  close(options?: CloseLogOptions): Promise<void>;
}

export interface IdleNote {
  /** In milliseconds since 1970. */
  readonly sinceMs: number;
  /** The time for which it is kept was prolonged because no owner was there meanwhile; that is done once. */
  readonly isExtended: boolean;
}

export interface FenceListener {
  onFenced(): void;
}

export interface AppendOptions {
  /** The last entries of the stream: they may use what bounds keep free for them. */
  readonly isEnding?: boolean;
  /** A trim follows when they are durable: they may use a part of what bounds keep free. */
  readonly isCheckpoint?: boolean;
  /** More of the stream is expected soon: their commit may wait some turns of the event loop for it. */
  readonly expectsMore?: boolean;
}

export interface CloseLogOptions {
  /** Deletes the log. */
  readonly remove?: boolean;
  /** Lets the log expire earlier. */
  readonly expiresAtMs?: number;
  /**
   * The stream has ended: its entries stay until then for those who ask for its end, and the empty log until it expires. After a
   * start of the journal they stay for a moment whatever the time is, since nobody could ask before.
   */
  readonly entriesExpireAtMs?: number;
}

export interface StreamLogSummary {
  readonly stream: string;
  readonly epoch: number;
  /** Who took it over last. */
  readonly owner: string;
  readonly base: number;
  /** Number of its last entry. */
  readonly last: number;
  /** What it counts for in the bounds. */
  readonly bytes: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** As given when it was created; empty also if nothing was ever appended, or everything was trimmed without a snapshot. */
  readonly tag: string;
  /** As given when it was created. */
  readonly account: string;
  /** As an owner said when its stream had ended; undefined: it may go on. */
  readonly entriesExpireAtMs: number | undefined;
}

export interface StreamLogView extends StreamLogSummary {
  readonly snapshot: readonly Uint8Array[];
  readonly entries: readonly Uint8Array[];
}

export interface JournalUsage {
  readonly logs: number;
  readonly bytes: number;
  readonly bytesMax: number;
}

/** `none`: nothing survives the process; `process`: what the kernel has survives it; `power`: what was flushed to disk. */
export type JournalDurability = 'none' | 'process' | 'power';

export interface JournalBounds {
  /** Bytes of one log, with an overhead for each entry. */
  readonly logBytesMax: number;
  /** Entries of one log that were not trimmed. */
  readonly logEntriesMax: number;
  /** A log expires this long after it was created. */
  readonly logAgeMsMax: number;
  /** Bytes of all logs together. */
  readonly bytesMax: number;
}

export const defaultJournalBounds: JournalBounds = {
  logBytesMax: 64 * 1024 * 1024,
  logEntriesMax: 100_000,
  logAgeMsMax: 24 * 3_600_000,
  bytesMax: 1024 * 1024 * 1024,
};
