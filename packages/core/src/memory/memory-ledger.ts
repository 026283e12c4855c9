/**
 * Who holds how much of the memory for requests, and who has to wait. An owner may hold as much as is still free, and a
 * connection as much as is left for its owner: whoever takes much leaves at least as much for the next one, so that no
 * number of requests of one owner can take the memory from another. No clock and no I/O: a lease that has to wait is told
 * when it may go on, and who waits too long is for the caller to decide.
 */
import type { MemoryLimits } from './memory-config.ts';
import { type MemoryHolder, MemoryLease } from './memory-lease.ts';

/** Everything that one owner holds, over all of its connections. */
export class MemoryOwner {
  readonly name: string;
  /** Of the shared part, and of the part for small requests. */
  sharedBytes = 0;
  smallBytes = 0;
  /** What its waiting leases took after they were asked to wait. */
  overdraftBytes = 0;
  connections = 0;
  /** In the order in which they began to wait. */
  readonly waiting = new Set<MemoryLease>();

  constructor(name: string) {
    this.name = name;
  }
}

/** What the requests of one connection hold for one owner. */
export class ConnectionMemory {
  readonly ledger: MemoryLedger;
  readonly owner: MemoryOwner;
  sharedBytes = 0;

  constructor(ledger: MemoryLedger, owner: MemoryOwner) {
    this.ledger = ledger;
    this.owner = owner;
  }

  lease(holder: MemoryHolder): MemoryLease {
    return new MemoryLease(this, holder);
  }

  /** The connection is gone; leases that are still open give back what they hold when they end. */
  close(): void {
    this.owner.connections--;
    this.ledger.forgetIdle(this.owner);
  }
}

export class MemoryLedger {
  readonly limits: MemoryLimits;
  /** Bytes in use of each part. */
  sharedUsed = 0;
  smallUsed = 0;
  completionUsed = 0;
  readonly #owners = new Map<string, MemoryOwner>();
  readonly #waitingOwners = new Set<MemoryOwner>();
  /** May use the part set aside for completion. */
  #favoured: MemoryLease | undefined = undefined;
  #waitOrder = 0;
  #isWaking: boolean = false;
  #isWakeDue: boolean = false;

  constructor(limits: MemoryLimits) {
    this.limits = limits;
  }

  get usedBytes(): number {
    return this.sharedUsed + this.smallUsed + this.completionUsed;
  }

  get ownerCount(): number {
    return this.#owners.size;
  }

  get waitingCount(): number {
    let count = 0;
    for (const owner of this.#waitingOwners) count += owner.waiting.size;
    return count;
  }

  connection(ownerName: string): ConnectionMemory {
    const owner = this.#ownerOf(ownerName);
    owner.connections++;
    return new ConnectionMemory(this, owner);
  }

  /** For one request of an owner that comes through the connection of a gateway. It is not closed. */
  guest(ownerName: string): ConnectionMemory {
    return new ConnectionMemory(this, this.#ownerOf(ownerName));
  }

  #ownerOf(name: string): MemoryOwner {
    const known = this.#owners.get(name);
    if (known !== undefined) return known;
    const owner = new MemoryOwner(name);
    this.#owners.set(name, owner);
    return owner;
  }

  forgetIdle(owner: MemoryOwner): void {
    if (owner.connections === 0 && owner.sharedBytes === 0 && owner.smallBytes === 0) this.#owners.delete(owner.name);
  }

  /** Whether the connection, with so much more, would still leave its owner and everybody else as much again. */
  isWithinShare(connection: ConnectionMemory, moreBytes: number): boolean {
    const free = this.limits.sharedBytes - this.sharedUsed - moreBytes;
    return 2 * (connection.sharedBytes + moreBytes) + connection.owner.sharedBytes + moreBytes <= free;
  }

  /** Small requests share their part in the same way, among owners alone. */
  hasSmallRoom(owner: MemoryOwner, moreBytes: number): boolean {
    return owner.smallBytes + moreBytes <= this.limits.smallBytes - this.smallUsed - moreBytes;
  }

  /** More than a waiting lease may still bring. The bound shrinks with what is left, so that it never runs out. */
  isOverdrawn(owner: MemoryOwner): boolean {
    const left = Math.max(0, this.limits.sharedBytes - this.sharedUsed);
    return owner.overdraftBytes > Math.min(this.limits.overdraftBytesMax, left / 8);
  }

  isFavoured(lease: MemoryLease): boolean {
    return this.#favoured === lease;
  }

  /** True when it need not wait: it is the one that may use the part set aside. */
  beginWait(lease: MemoryLease): boolean {
    if (this.#favoured === undefined) {
      this.#favoured = lease;
      return true;
    }
    const { owner } = lease.connection;
    lease.waitOrder = this.#waitOrder++;
    owner.waiting.add(lease);
    this.#waitingOwners.add(owner);
    return false;
  }

  endWait(lease: MemoryLease): void {
    const { owner } = lease.connection;
    owner.waiting.delete(lease);
    if (owner.waiting.size === 0) this.#waitingOwners.delete(owner);
  }

  /** The lease is complete or has ended: the next one may use what was set aside. */
  endFavour(lease: MemoryLease): void {
    if (this.#favoured === lease) this.#favoured = undefined;
  }

  /** Memory was given back: those that may go on are told, the longest waiting of each owner first. */
  wake(): void {
    if (this.#waitingOwners.size === 0) return;
    this.#isWakeDue = true;
    if (this.#isWaking) return;
    this.#isWaking = true;
    while (this.#isWakeDue) {
      this.#isWakeDue = false;
      this.#favourLongestWaiting();
      for (const owner of this.#waitingOwners) {
        for (const lease of owner.waiting) {
          if (!this.isWithinShare(lease.connection, 0)) break;
          lease.goOn();
        }
      }
    }
    this.#isWaking = false;
  }

  #favourLongestWaiting(): void {
    if (this.#favoured !== undefined) return;
    let longest: MemoryLease | undefined;
    for (const owner of this.#waitingOwners) {
      const [first] = owner.waiting;
      if (first !== undefined && (longest === undefined || first.waitOrder < longest.waitOrder)) longest = first;
    }
    if (longest === undefined) return;
    this.#favoured = longest;
    longest.goOn();
  }
}
