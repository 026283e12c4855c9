import type { LedgerHolder } from './memory-lease.ts';
import type { LedgerConnection } from './memory-owner.ts';
import type { QueueEntry } from './wait-queue.ts';

/** The part of a lease that is not small, and whether it waits. Most leases never have one. */
export class LargeLease implements QueueEntry<LargeLease> {
  readonly connection: LedgerConnection;
  readonly holder: LedgerHolder;
  /** Bytes in the shared part, including promised ones. */
  sharedBytes = 0;
  /** Bytes in the completion reserve. */
  completionBytes = 0;
  /** Counted before they arrive: what the lease may take at once when it continues. */
  promisedBytes = 0;
  /** Bytes taken since it was told to wait. */
  overdraftBytes = 0;
  isWaiting: boolean = false;
  isRefused: boolean = false;
  /** The whole request has arrived. */
  isComplete: boolean = false;
  before: LargeLease | undefined = undefined;
  after: LargeLease | undefined = undefined;

  constructor(connection: LedgerConnection, holder: LedgerHolder) {
    this.connection = connection;
    this.holder = holder;
  }
}
