import type { LargeLease } from './large-lease.ts';
import type { LedgerConnection, MemoryOwner } from './memory-owner.ts';
import { freeBytesNeeded } from './memory-share.ts';
import { WaitHeap } from './wait-heap.ts';
import { WaitQueue } from './wait-queue.ts';

/**
 * The waiting leases, ordered so that the one that could continue first is found at once. How many bytes must be free
 * for a lease depends on its owner and connection alone, so owners are sorted by that number: bytes released by others
 * are compared with the smallest one, however many wait. What an owner or connection takes or releases itself moves it.
 */
export class WaitingLeases {
  readonly #sharedBytes: number;
  readonly #promiseBytes: number;
  readonly #owners = new WaitHeap<MemoryOwner>();
  readonly #turns = new WaitQueue<MemoryOwner>();
  count = 0;

  /** A lease continues when `promiseBytes` more would be within its share. */
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

  /** The bytes held by its connection or its owner changed. */
  move(connection: LedgerConnection): void {
    const { owner } = connection;
    if (connection.heapIndex !== -1) owner.waiting?.put(connection, connection.sharedBytes);
    if (owner.heapIndex !== -1) this.#sort(owner);
  }

  /** The lease that needs least, if this many bytes are enough for it. It stays until it is removed. */
  firstWithin(freeBytes: number): LargeLease | undefined {
    const owner = this.#owners.first;
    return owner !== undefined && owner.heapKey <= freeBytes ? longestOf(owner) : undefined;
  }

  /** Owners take turns, so that many waiting leases of one do not delay those of another. */
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

/** The lease that has waited longest, of the connection that holds least. */
function longestOf(owner: MemoryOwner): LargeLease {
  return owner.waiting?.first?.waiting?.first as LargeLease;
}
