/**
 * Counts who holds how much of the memory for requests, and decides who has to wait. An owner that takes much must
 * leave much free, so that no number of requests of one owner can take the memory from another: `memory-share.ts` has
 * the rule and its guarantee. No clock and no I/O: a lease that has to wait is told when it may continue, and the
 * caller decides who has waited too long.
 */
import { LargeMemory } from './large-memory.ts';
import type { MemoryLimits } from './memory-config.ts';
import { LedgerConnection, MemoryOwner } from './memory-owner.ts';
import { leavesEnough } from './memory-share.ts';

export class MemoryLedger {
  readonly limits: MemoryLimits;
  /** For leases. */
  readonly largeMemory: LargeMemory;
  smallUsed = 0;
  readonly #owners = new Map<string, MemoryOwner>();

  constructor(limits: MemoryLimits) {
    this.limits = limits;
    this.largeMemory = new LargeMemory(limits);
  }

  get sharedUsed(): number {
    return this.largeMemory.sharedUsed;
  }

  get completionUsed(): number {
    return this.largeMemory.completionUsed;
  }

  get usedBytes(): number {
    return this.sharedUsed + this.smallUsed + this.completionUsed;
  }

  get ownerCount(): number {
    return this.#owners.size;
  }

  get waitingCount(): number {
    return this.largeMemory.waiting.count;
  }

  connection(ownerName: string): LedgerConnection {
    const connection = this.guest(ownerName);
    this.remember(connection);
    connection.open();
    return connection;
  }

  /** For one request of an owner that comes through a gateway's connection. It is not closed. */
  guest(ownerName: string): LedgerConnection {
    return new LedgerConnection(this, this.#owners.get(ownerName) ?? new MemoryOwner(ownerName));
  }

  forgetIdle(owner: MemoryOwner): void {
    if (owner.isForgotten || !owner.isIdle) return;
    owner.isForgotten = true;
    this.#owners.delete(owner.name);
  }

  /** The connection is about to hold something: for the one owner of that name. */
  remember(connection: LedgerConnection): MemoryOwner {
    const { owner } = connection;
    const known = this.#owners.get(owner.name);
    if (known !== undefined) {
      connection.owner = known;
      return known;
    }
    owner.isForgotten = false;
    this.#owners.set(owner.name, owner);
    return owner;
  }

  /** Whether a lease of this size with this many bytes more is small, and within its owner's share of that part. */
  hasSmallRoom(owner: MemoryOwner, heldBytes: number, moreBytes: number): boolean {
    const { smallBytes, smallRequestBytesMax } = this.limits;
    if (heldBytes + moreBytes > smallRequestBytesMax) return false;
    return leavesEnough(smallBytes, owner.smallBytes + moreBytes, smallBytes - this.smallUsed - moreBytes);
  }
}
