import type { LedgerHolder } from './memory-lease.ts';
import type { LedgerConnection } from './memory-owner.ts';
import type { QueueEntry } from './wait-queue.ts';

/** What a lease holds that is not small, and whether it waits. Most leases never have one. */
export class LargeLease implements QueueEntry<LargeLease> {
  readonly connection: LedgerConnection;
  readonly holder: LedgerHolder;
  /** In the shared part, with what was promised. */
  sharedBytes = 0;
  /** In the part set aside for completion. */
  completionBytes = 0;
  /** Counted before it arrives: what the lease may take at once when it goes on. */
  promisedBytes = 0;
  /** Taken since it was asked to wait. */
  overdraftBytes = 0;
  isWaiting: boolean = false;
  isRefused: boolean = false;
  /** All of the request has arrived. */
  isComplete: boolean = false;
  before: LargeLease | undefined = undefined;
  after: LargeLease | undefined = undefined;

  constructor(connection: LedgerConnection, holder: LedgerHolder) {
    this.connection = connection;
    this.holder = holder;
  }
}
