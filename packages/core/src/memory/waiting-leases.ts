import type { LargeLease } from './large-lease.ts';
import type { LedgerConnection, MemoryOwner } from './memory-owner.ts';
import { freeBytesNeeded } from './memory-share.ts';
import { WaitHeap } from './wait-heap.ts';
import { WaitQueue } from './wait-queue.ts';

/**
 * The leases that wait, such that the one that could go on first is at hand. How many bytes must be free for a lease
 * depends on its owner and connection alone, so owners are sorted by that number: memory that somebody else gives back is
 * compared with the least of them, however many wait. What an owner or connection takes or gives back itself moves it.
 */
export class WaitingLeases {
  readonly #sharedBytes: number;
  readonly #promiseBytes: number;
  readonly #owners = new WaitHeap<MemoryOwner>();
  readonly #turns = new WaitQueue<MemoryOwner>();
  count = 0;

  /** A lease goes on when `promiseBytes` more would be within its share. */
  constructor(sharedBytes: number, promiseBytes: number) {
    this.#sharedBytes = sharedBytes;
    this.#promiseBytes = promiseBytes;
  }

  add(large: LargeLease): void {
    const { connection } = large;
    const { owner } = connection;
    this.count++;
    owner.waiting ??= new WaitHeap();
    connection.waiting ??= new WaitQueue();
    connection.waiting.add(large);
    if (owner.heapIndex === -1) this.#turns.add(owner);
    owner.waiting.put(connection, connection.sharedBytes);
    this.#sort(owner);
  }

  remove(large: LargeLease): void {
    const { connection } = large;
    const { owner } = connection;
    this.count--;
    connection.waiting?.remove(large);
    if (connection.waiting?.first !== undefined) return;
    owner.waiting?.remove(connection);
    this.#sort(owner);
  }

  /** Its connection or its owner holds more or less than before. */
  move(connection: LedgerConnection): void {
    const { owner } = connection;
    if (connection.heapIndex !== -1) owner.waiting?.put(connection, connection.sharedBytes);
    if (owner.heapIndex !== -1) this.#sort(owner);
  }

  /** The lease that needs least, if so much is enough for it. It stays until it is removed. */
  firstWithin(freeBytes: number): LargeLease | undefined {
    const owner = this.#owners.first;
    return owner !== undefined && owner.heapKey <= freeBytes ? longestOf(owner) : undefined;
  }

  /** Owners take turns, so that many waiting leases of one do not stand before those of another. */
  nextTurn(heldBytesMax: number): LargeLease | undefined {
    for (let owner = this.#turns.first; owner !== undefined; owner = owner.after) {
      const large = longestOf(owner);
      if (large.sharedBytes > heldBytesMax) continue;
      this.#turns.remove(owner);
      this.#turns.add(owner);
      return large;
    }
    return undefined;
  }

  #sort(owner: MemoryOwner): void {
    const connection = owner.waiting?.first;
    if (connection !== undefined) {
      const more = this.#promiseBytes;
      const needed = freeBytesNeeded(this.#sharedBytes, connection.sharedBytes + more, owner.sharedBytes + more);
      this.#owners.put(owner, needed + more);
      return;
    }
    this.#owners.remove(owner);
    this.#turns.remove(owner);
  }
}

/** Of the connection that holds least, the lease that has waited longest. */
function longestOf(owner: MemoryOwner): LargeLease {
  return owner.waiting?.first?.waiting?.first as LargeLease;
}
