import type { LargeLease } from './large-lease.ts';
import { type LedgerHolder, LedgerLease } from './memory-lease.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import type { HeapEntry, WaitHeap } from './wait-heap.ts';
import type { QueueEntry, WaitQueue } from './wait-queue.ts';

/** Everything that one owner holds, over all of its connections. */
export class MemoryOwner implements HeapEntry, QueueEntry<MemoryOwner> {
  readonly name: string;
  /** Bytes held in each part. */
  sharedBytes = 0;
  smallBytes = 0;
  completionBytes = 0;
  /** What its leases took after they were told to wait. */
  overdraftBytes = 0;
  connections = 0;
  /** The ledger has no entry of it, because it is idle. */
  isForgotten: boolean = true;
  /** Its connections with waiting leases, by bytes held. Created when the first lease waits. */
  waiting: WaitHeap<LedgerConnection> | undefined = undefined;
  /** Its position among the owners with waiting leases: by the free bytes it needs, and in the order of their turns. */
  heapKey = 0;
  heapIndex = -1;
  before: MemoryOwner | undefined = undefined;
  after: MemoryOwner | undefined = undefined;

  constructor(name: string) {
    this.name = name;
  }

  get isIdle(): boolean {
    return this.connections === 0 && this.sharedBytes === 0 && this.smallBytes === 0 && this.completionBytes === 0;
  }
}

/** What the requests of one connection hold for one owner. */
export class LedgerConnection implements HeapEntry {
  readonly ledger: MemoryLedger;
  owner: MemoryOwner;
  sharedBytes = 0;
  /** Its waiting leases, longest wait first. Created when the first one waits. */
  waiting: WaitQueue<LargeLease> | undefined = undefined;
  heapKey = 0;
  heapIndex = -1;
  #isOpen: boolean = false;

  constructor(ledger: MemoryLedger, owner: MemoryOwner) {
    this.ledger = ledger;
    this.owner = owner;
  }

  /** For the ledger: its owner is kept until it is closed. */
  open(): void {
    this.#isOpen = true;
    this.owner.connections++;
  }

  lease(holder: LedgerHolder): LedgerLease {
    return new LedgerLease(this, holder);
  }

  /** The connection was closed; leases that are still open release their bytes when they end. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.owner.connections--;
    this.ledger.forgetIdle(this.owner);
  }
}
