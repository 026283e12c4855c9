/** What the logs of one account hold together. */
import type { IndexedLog } from './log-index.ts';

export interface JournalAccount {
  readonly name: string;
  /** In the table. */
  bytes: number;
  /** Accepted, and not in the table yet. */
  pendingBytes: number;
  /** Logs of ended streams that nobody owns, also those of which only the id is left; the oldest first. */
  readonly ended: Map<string, IndexedLog>;
}

/** Accounts that have logs. */
export class JournalAccounts {
  readonly #accounts = new Map<string, JournalAccount>();

  /** Undefined: the log counts for nobody. */
  of(name: string): JournalAccount | undefined {
    if (name === '') return undefined;
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = { name, bytes: 0, pendingBytes: 0, ended: new Map() };
      this.#accounts.set(name, account);
    }
    return account;
  }

  /** Undefined: it has no logs. */
  take(name: string): JournalAccount | undefined {
    return this.#accounts.get(name);
  }

  /** Negative: its logs hold less. */
  count(account: JournalAccount | undefined, bytes: number): void {
    if (account === undefined) return;
    account.bytes += bytes;
    this.#forgetIfEmpty(account);
  }

  /** Negative: they are in the table, or were refused. */
  hold(account: JournalAccount | undefined, bytes: number): void {
    if (account === undefined) return;
    account.pendingBytes += bytes;
    this.#forgetIfEmpty(account);
  }

  #forgetIfEmpty(account: JournalAccount): void {
    const isEmpty = account.bytes === 0 && account.pendingBytes === 0;
    if (isEmpty && this.#accounts.get(account.name) === account) this.#accounts.delete(account.name);
  }
}
