/** Group commit: what is requested in one turn, or while a transaction is under way, shares the next transaction. */
import type { StoreClock } from '../store-clock.ts';
import type { StoreError } from '../store-error.ts';
import type { JournalHost, JournalTable } from './journal-table.ts';

export interface JournalChange {
  /** How many bytes it writes, about. */
  readonly bytes: number;
  /** Another change is expected soon that it would better share a transaction with. */
  readonly canWait: boolean;
  /** Called once, in the order in which changes were added; must not throw because of what the caller did. */
  apply(table: JournalTable): void;
  /** Called when its changes are durable; with an error, when it was not applied or it is unknown whether it was. */
  settle(error?: StoreError): void;
}

/** A transaction on the main thread stops everything else for about a millisecond per megabyte. */
const commitBytesMax = 4 * 1024 * 1024;
/** Turns that changes wait for those that are expected: a model that runs in this process has answered by then. */
const waitingTurnsMax = 3;

export class CommitQueue {
  readonly #host: JournalHost;
  readonly #clock: Pick<StoreClock, 'endOfTurn'>;
  readonly #onSettled: (error?: StoreError) => void;
  #waiting: JournalChange[] = [];
  #isBusy: boolean = false;
  #waitingTurns = 0;
  #whenIdle: (() => void)[] = [];

  /** `onSettled` is called after each transaction, before its changes are settled. */
  constructor(host: JournalHost, clock: Pick<StoreClock, 'endOfTurn'>, onSettled: (error?: StoreError) => void) {
    this.#host = host;
    this.#clock = clock;
    this.#onSettled = onSettled;
  }

  add(change: JournalChange): void {
    this.#waiting.push(change);
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#waitingTurns = 0;
    this.#clock.endOfTurn(this.#commit);
  }

  /** Resolves when everything added so far, and by that, has settled. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isBusy) this.#whenIdle.push(resolve);
      else resolve();
    });
  }

  readonly #commit = (): void => {
    if (this.#waitingTurns < waitingTurnsMax && this.#waiting.every(({ canWait }) => canWait)) {
      this.#waitingTurns += 1;
      this.#clock.endOfTurn(this.#commit);
      return;
    }
    const changes = this.#take();
    this.#host.commit(
      (table) => {
        for (const change of changes) change.apply(table);
      },
      (error) => {
        this.#onSettled(error);
        for (const change of changes) change.settle(error);
        if (this.#waiting.length > 0) {
          this.#waitingTurns = 0;
          this.#clock.endOfTurn(this.#commit);
          return;
        }
        this.#isBusy = false;
        for (const resolve of this.#whenIdle.splice(0)) resolve();
      },
    );
  };

  #take(): readonly JournalChange[] {
    let bytes = 0;
    const taken = this.#waiting;
    const end = taken.findIndex((change) => {
      bytes += change.bytes;
      return bytes > commitBytesMax;
    });
    this.#waiting = end === -1 ? [] : taken.splice(Math.max(1, end));
    return taken;
  }
}
