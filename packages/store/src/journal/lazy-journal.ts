/** A journal that is opened by its first use: a server without streams saves the memory and time that it takes. */
import type { Journal, JournalUsage, StreamLog, StreamLogSummary, StreamLogView, TakeOverOptions } from '../journal.ts';

export class LazyJournal implements Journal {
  readonly #open: () => Promise<Journal>;
  #opening: Promise<Journal> | undefined;
  #opened: Journal | undefined;

  constructor(open: () => Promise<Journal>) {
    this.#open = open;
  }

  async takeOver(stream: string, owner: string, options?: TakeOverOptions): Promise<StreamLog | undefined> {
    return (this.#opened ?? (await this.#ready())).takeOver(stream, owner, options);
  }

  async peek(stream: string): Promise<StreamLogView | undefined> {
    return (this.#opened ?? (await this.#ready())).peek(stream);
  }

  async list(): Promise<readonly StreamLogSummary[]> {
    return (this.#opened ?? (await this.#ready())).list();
  }

  async readNote(name: string): Promise<string | undefined> {
    return (this.#opened ?? (await this.#ready())).readNote(name);
  }

  async writeNote(name: string, text: string | undefined): Promise<void> {
    return (this.#opened ?? (await this.#ready())).writeNote(name, text);
  }

  usage(): JournalUsage {
    return this.#opened?.usage() ?? { logs: 0, bytes: 0, bytesMax: 0 };
  }

  async close(): Promise<void> {
    if (this.#opening !== undefined) await (await this.#opening.catch(() => undefined))?.close();
  }

  #ready(): Promise<Journal> {
    this.#opening ??= this.#open().then(
      (journal) => {
        this.#opened = journal;
        return journal;
      },
      (error: unknown) => {
        // What is wrong with the folder may be mended while the server runs.
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }
}
