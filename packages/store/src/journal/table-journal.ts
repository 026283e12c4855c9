/** A journal on a table: ownership, group commit, bounds and expiry, whatever the table is stored in. */
import {
  defaultJournalBounds,
  type Journal,
  type JournalBounds,
  type JournalUsage,
  type StreamLog,
  type StreamLogSummary,
  type StreamLogView,
  type TakeOverOptions,
} from '../journal.ts';
import { checkLogNames } from '../limits.ts';
import { type StoreClock, systemStoreClock } from '../store-clock.ts';
import { StoreError } from '../store-error.ts';
import { CommitQueue } from './commit-queue.ts';
import type { JournalAccount } from './journal-account.ts';
import { JournalRoom } from './journal-room.ts';
import { collectRecordsMax, JournalSweep } from './journal-sweep.ts';
import type { JournalHost, JournalTable } from './journal-table.ts';
import { emptyLogBytes, type IndexedLog, LogIndex } from './log-index.ts';
import { type LogContext, OwnedLog, unreadContents } from './owned-log.ts';
import { notePrefix } from './record-format.ts';

/** Dead records are deleted between sweeps once there are that many. */
const deadRecordsMax = 512;
/** Logs of ended streams that are removed at once where their account needs the room. */
const endedRemovedMax = 256;

export interface TableJournalOptions {
  readonly bounds?: Partial<JournalBounds> | undefined;
  readonly clock?: StoreClock | undefined;
}

export class TableJournal implements Journal {
  readonly #host: JournalHost;
  readonly #clock: StoreClock;
  readonly #queue: CommitQueue;
  readonly #room: JournalRoom;
  readonly #context: LogContext;
  readonly #owners = new Map<string, OwnedLog>();
  #index: LogIndex;
  readonly #sweep: JournalSweep;
  #callOffAlarm: (() => void) | undefined;
  #isCollecting: boolean = false;
  /** Accounts that are about to lose logs of ended streams. */
  readonly #making = new Set<string>();
  /** Why nothing can be asked any more. */
  #ended: StoreError | undefined;

  constructor(host: JournalHost, { bounds, clock = systemStoreClock }: TableJournalOptions = {}) {
    this.#host = host;
    this.#clock = clock;
    this.#sweep = new JournalSweep(clock.now(), (table, log) => this.#expire(table, log));
    this.#queue = new CommitQueue(host, clock, this.#onSettled);
    this.#room = new JournalRoom({ ...defaultJournalBounds, ...bounds }, () => this.#index);
    this.#index = this.#readIndex();
    this.#context = {
      queue: this.#queue,
      room: this.#room,
      clock,
      index: () => this.#index,
      onGivenUp: (log) => {
        if (this.#owners.get(log.stream) === log) this.#owners.delete(log.stream);
      },
      onGrown: (account) => this.#makeRoom(account),
    };
    this.#setAlarm();
  }

  async takeOver(stream: string, owner: string, options: TakeOverOptions = {}): Promise<StreamLog | undefined> {
    checkLogNames(stream, owner, options.tag ?? '', options.account ?? '');
    let taken: OwnedLog | undefined;
    let before: OwnedLog | undefined;
    const request = this.#request((table) => {
      const log = this.#logToTakeOver(table, stream, options);
      if (log === undefined) return;
      // Before the epoch is raised: a log that cannot be read is left to its owner.
      const contents = options.isUnread === true ? unreadContents : this.#index.contentsOf(table, log);
      const epoch = this.#index.raiseEpoch(table, log, owner);
      before = this.#owners.get(stream);
      before?.giveUp(fenced(`${owner} has taken over the log of ${JSON.stringify(stream)} at epoch ${epoch}`));
      taken = new OwnedLog(log, contents, this.#context);
      this.#owners.set(stream, taken);
    });
    await request.finally(() => before?.tellFenced());
    this.#setAlarm();
    return taken;
  }

  #logToTakeOver(table: JournalTable, stream: string, options: TakeOverOptions): IndexedLog | undefined {
    const { create = false, expectedEpoch, tag = '', account = '' } = options;
    const log = this.#liveLog(stream);
    if (expectedEpoch !== undefined && expectedEpoch !== (log?.head.epoch ?? 0)) return undefined;
    if (log !== undefined || !create) return log;
    this.#removeEnded(table, account, emptyLogBytes(stream));
    const problem = this.#room.problemWithNewLog(stream, account);
    if (problem !== undefined) throw problem;
    const expired = this.#index.logs.get(stream);
    if (expired !== undefined) this.#expire(table, expired);
    const now = this.#clock.now();
    const expiresAtMax = now + this.#room.ageMsMax;
    const expiresAtMs = Math.min(options.expiresAtMs ?? expiresAtMax, expiresAtMax);
    return this.#index.create(stream, { tag, account }, now, expiresAtMs);
  }

  /** Soon, and before its owners are held back: logs of ended streams go first. */
  #makeRoom(account: JournalAccount): void {
    const { name } = account;
    if (this.#ended !== undefined || this.#making.has(name) || this.#room.endedToRemove(account, 0) === 0) return;
    this.#making.add(name);
    this.#request((table) => this.#removeEnded(table, name, 0)).then(
      () => {
        this.#making.delete(name);
        const now = this.#index.accounts.take(name);
        if (now !== undefined) this.#makeRoom(now);
      },
      // The next append tries again.
      () => this.#making.delete(name),
    );
  }

  /** Of one account that needs so many bytes, the oldest first, some at a time. */
  #removeEnded(table: JournalTable, name: string, bytes: number): void {
    const account = this.#index.accounts.take(name);
    if (account === undefined) return;
    let left = this.#room.endedToRemove(account, bytes);
    let removed = 0;
    for (const log of account.ended.values()) {
      if (left <= 0 || removed === endedRemovedMax) return;
      left -= log.bytes;
      removed += 1;
      this.#index.remove(table, log);
    }
  }

  async peek(stream: string): Promise<StreamLogView | undefined> {
    let view: StreamLogView | undefined;
    await this.#request((table) => {
      const log = this.#liveLog(stream);
      if (log !== undefined) view = { ...summaryOf(log), ...this.#index.contentsOf(table, log) };
    });
    return view;
  }

  async list(): Promise<readonly StreamLogSummary[]> {
    let logs: readonly StreamLogSummary[] = [];
    await this.#request(() => {
      const now = this.#clock.now();
      logs = [...this.#index.logs.values()].filter(({ head }) => head.expiresAtMs > now).map(summaryOf);
    });
    return [...logs].sort((one, other) => Buffer.compare(Buffer.from(one.stream), Buffer.from(other.stream)));
  }

  async readNote(name: string): Promise<string | undefined> {
    let bytes: Uint8Array | undefined;
    await this.#request((table) => {
      bytes = table.get(Buffer.from(`${notePrefix}${name}`));
    });
    return bytes && Buffer.from(bytes).toString();
  }

  writeNote(name: string, text: string | undefined): Promise<void> {
    const key = Buffer.from(`${notePrefix}${name}`);
    return this.#request((table) => {
      if (text === undefined) table.remove(key);
      else table.put(key, Buffer.from(text));
    });
  }

  usage(): JournalUsage {
    return { logs: this.#index.logs.size, bytes: this.#index.bytes, bytesMax: this.#room.bytesMax };
  }

  async close(): Promise<void> {
    if (this.#ended?.code === 'store-closed') return;
    this.#ended = new StoreError('store-closed', 'the journal has been closed');
    this.#callOffAlarm?.();
    for (const log of this.#owners.values()) log.refuseCalls(this.#ended);
    await this.#queue.idle();
    await this.#host.close();
  }

  #liveLog(stream: string): IndexedLog | undefined {
    const log = this.#index.logs.get(stream);
    return log !== undefined && log.head.expiresAtMs > this.#clock.now() ? log : undefined;
  }

  /** What the action throws as a `StoreError` is a refusal of this request alone; it must have changed nothing by then. */
  #request(action: (table: JournalTable) => void): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      let refusal: StoreError | undefined;
      this.#queue.add({
        bytes: 0,
        canWait: false,
        apply: (table) => {
          try {
            action(table);
          } catch (error) {
            if (!(error instanceof StoreError)) throw error;
            refusal = error;
          }
        },
        settle: (error) => {
          const problem = error ?? refusal;
          if (problem === undefined) resolve();
          else reject(problem);
        },
      });
    });
  }

  #expire(table: JournalTable, log: IndexedLog): void {
    this.#index.remove(table, log);
    const owner = this.#owners.get(log.stream);
    owner?.giveUp(fenced(`the log of ${JSON.stringify(log.stream)} has expired`));
    owner?.tellFenced();
  }

  #setAlarm(): void {
    const hasWork = this.#index.logs.size > 0 || this.#index.deadRecords > 0;
    if (this.#callOffAlarm !== undefined || !hasWork || this.#ended !== undefined) return;
    this.#callOffAlarm = this.#clock.alarm(this.#sweep.pauseMs, () => {
      this.#callOffAlarm = undefined;
      // The next request reports why it failed.
      this.#request((table) => this.#sweep.run(table, this.#index, this.#clock.now()))
        .catch(() => {})
        .finally(() => this.#setAlarm());
    });
  }

  #collectIfMany(): void {
    if (this.#isCollecting || this.#index.deadRecords < deadRecordsMax || this.#ended !== undefined) return;
    this.#isCollecting = true;
    this.#request((table) => this.#index.collect(table, collectRecordsMax))
      .catch(() => {})
      .finally(() => {
        this.#isCollecting = false;
        this.#collectIfMany();
      });
  }

  readonly #onSettled = (error?: StoreError): void => {
    if (error === undefined) this.#collectIfMany();
    else this.#onFailure(error);
  };

  /** What the failed transaction changed in the index may not be in the table. */
  #onFailure(error: StoreError): void {
    const isFenced = error.code === 'journal-fenced';
    for (const log of [...this.#owners.values()]) {
      log.giveUp(error);
      if (isFenced) log.tellFenced();
    }
    this.#sweep.restart();
    try {
      if (isFenced) this.#ended ??= error;
      else this.#index = this.#readIndex();
    } catch {
      this.#ended ??= error;
    }
  }

  #readIndex(): LogIndex {
    return this.#host.read((table) => LogIndex.read(table, this.#clock.now(), this.#room.ageMsMax));
  }
}

function fenced(reason: string): StoreError {
  return new StoreError('journal-fenced', reason);
}

function summaryOf({ stream, head, records, snapshot, last, bytes }: IndexedLog): StreamLogSummary {
  const { epoch, owner, base, createdAtMs, expiresAtMs, entriesExpireAtMs, account } = head;
  const tag = records.isEmpty && snapshot === undefined ? '' : head.tag;
  return { stream, epoch, owner, base, last, bytes, createdAtMs, expiresAtMs, tag, account, entriesExpireAtMs };
}
