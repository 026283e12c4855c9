/**
 * A journal on disk. In `process` durability a transaction runs on the main thread, at the end of a turn: that costs it less
 * than handing the entries to lmdb's own thread, and the kernel has them microseconds later. In `power` durability the flush
 * would stop everything else for milliseconds, so lmdb's thread waits for it.
 */
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Database } from 'lmdb';
import type { JournalHost, JournalTable } from '../journal/journal-table.ts';
import { journalFormat } from '../journal/record-format.ts';
import { TableJournal, type TableJournalOptions } from '../journal/table-journal.ts';
import { defaultJournalBounds, type Journal, type JournalDurability } from '../journal.ts';
import { StoreError } from '../store-error.ts';
import { checkAfterMachineCrash, noteMachineRun } from './machine-crash.ts';
import { type OwnedFolder, openOwnedFolder } from './owned-folder.ts';
import { ownerRecord } from './ownership.ts';
import { writeFailure } from './write-failure.ts';

export interface LmdbJournalOptions extends TableJournalOptions {
  /** A folder of its own, not that of the metadata; created, for its owner alone, if it does not exist. */
  readonly path: string;
  readonly durability: Exclude<JournalDurability, 'none'>;
  /** Where a copy of a possibly damaged file is tested; the system's folder for temporary files unless given. */
  readonly temporaryFolder?: string | undefined;
}

/** The file holds free pages and those of lmdb itself beside the logs. One that is larger than this is mapped again. */
const mappedTo = 1.25;
const mapBytesMax = 64 * 1024 ** 3;
const mapUnitBytes = 1024 ** 2;

export async function openLmdbJournal(options: LmdbJournalOptions): Promise<Journal> {
  const host = await openLmdbJournalHost(options);
  try {
    return new TableJournal(host, options);
  } catch (error) {
    await host.close();
    throw error;
  }
}

export async function openLmdbJournalHost(options: LmdbJournalOptions): Promise<JournalHost> {
  const { path, durability, temporaryFolder = tmpdir() } = options;
  const isSynced = durability === 'power';
  checkAfterMachineCrash(resolve(path), temporaryFolder);
  const kept = { kind: 'journal', format: journalFormat, isPrivate: true } as const;
  const { bytesMax = defaultJournalBounds.bytesMax } = options.bounds ?? {};
  const mapBytes = Math.ceil(Math.min(bytesMax * mappedTo, mapBytesMax) / mapUnitBytes) * mapUnitBytes;
  const owned = await openOwnedFolder({ path, isSynced, mapBytes, temporaryFolder, ...kept });
  if (!isSynced) noteMachineRun(owned.folder);
  return new LmdbJournalHost(owned, isSynced);
}

class LmdbJournalHost implements JournalHost, JournalTable {
  readonly #owned: OwnedFolder;
  readonly #database: Database<Uint8Array, Uint8Array>;
  readonly #isSynced: boolean;

  constructor(owned: OwnedFolder, isSynced: boolean) {
    this.#owned = owned;
    this.#database = owned.table.database;
    this.#isSynced = isSynced;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#database.get(key);
  }

  put(key: Uint8Array, bytes: Uint8Array): void {
    void this.#database.put(key, bytes);
  }

  remove(key: Uint8Array): void {
    void this.#database.remove(key);
  }

  *keys(prefix: Uint8Array): Iterable<Uint8Array> {
    // A byte more than any key has behind its prefix, so that the end is behind all of them.
    const end = Buffer.concat([prefix, Buffer.alloc(32, 0xff)]);
    for (const key of this.#database.getKeys({ start: prefix, end })) yield Buffer.from(key);
  }

  read<T>(action: (table: JournalTable) => T): T {
    return action(this);
  }

  commit(action: (table: JournalTable) => void, settle: (error?: StoreError) => void): void {
    const run = (): void => {
      this.#checkOwner();
      action(this);
    };
    if (this.#isSynced) {
      this.#database.childTransaction(run).then(
        () => settle(),
        (error: unknown) => settle(writeFailure(error)),
      );
      return;
    }
    let failure: StoreError | undefined;
    try {
      this.#database.transactionSync(run);
    } catch (error) {
      failure = writeFailure(error);
    }
    settle(failure);
  }

  /**
   * The fence between processes, in the transaction of every change: who has taken over a log in another process has taken over
   * the whole folder before. Between owners in this process the journal decides.
   */
  #checkOwner(): void {
    if (this.#owned.ownership.isNamedIn(this.#database.get(ownerKeyBytes))) return;
    throw new StoreError('journal-fenced', `another server has taken over the journal in ${this.#owned.folder}`);
  }

  close(): Promise<void> {
    return this.#owned.close();
  }
}

const ownerKeyBytes: Uint8Array = Buffer.from(ownerRecord);
