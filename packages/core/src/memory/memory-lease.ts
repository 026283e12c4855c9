import type { ConnectionMemory } from './memory-ledger.ts';

/** Hears that a lease that had to wait may go on. */
export interface MemoryHolder {
  onMemory(): void;
}

/**
 * `granted`: go on. `waiting`: what was counted stays, but take no more before `onMemory`. `refused`: too much came while
 * it had to wait; end the lease.
 */
export type MemoryVerdict = 'granted' | 'waiting' | 'refused';

/** What one request holds. Bytes are counted when they are there, so the count is right also while the lease waits. */
export class MemoryLease {
  readonly connection: ConnectionMemory;
  readonly #holder: MemoryHolder;
  heldBytes = 0;
  isWaiting: boolean = false;
  waitOrder = 0;
  /** Whether all of it counts among the small requests. */
  #isSmall: boolean = true;
  /** Counted against the part set aside for completion. */
  #completionBytes = 0;
  #overdraftBytes = 0;

  constructor(connection: ConnectionMemory, holder: MemoryHolder) {
    this.connection = connection;
    this.#holder = holder;
  }

  /** So much more is held. */
  hold(bytes: number): MemoryVerdict {
    if (this.#count(bytes)) return 'granted';
    const { ledger, owner } = this.connection;
    if (ledger.isFavoured(this)) return 'granted';
    if (!this.isWaiting) {
      if (ledger.isWithinShare(this.connection, 0) || ledger.beginWait(this)) return 'granted';
      this.isWaiting = true;
    }
    this.#overdraftBytes += bytes;
    owner.overdraftBytes += bytes;
    return ledger.isOverdrawn(owner) ? 'refused' : 'waiting';
  }

  /** As `hold`, for what must be held in any case: ask `hasRoomFor` first. */
  count(bytes: number): void {
    this.#count(bytes);
  }

  /** Whether so much more could be held without waiting. */
  hasRoomFor(bytes: number): boolean {
    const { ledger, owner } = this.connection;
    const isSmall = this.#isSmall && this.heldBytes + bytes <= ledger.limits.smallRequestBytesMax;
    return (isSmall && ledger.hasSmallRoom(owner, bytes)) || ledger.isWithinShare(this.connection, bytes);
  }

  /** All that was awaited has arrived: what was set aside for its completion is for the next one that waits. */
  complete(): void {
    const { ledger } = this.connection;
    if (!ledger.isFavoured(this)) return;
    ledger.endFavour(this);
    ledger.wake();
  }

  /** At most what is held: what comes after the end of the lease has been given back already. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.heldBytes);
    if (given === 0) return;
    this.#giveBack(given);
    this.connection.ledger.wake();
  }

  /** Gives back all of it. The lease may be used again afterwards. */
  end(): void {
    this.keep(0);
    this.#isSmall = true;
  }

  /** From now on so much is held, whatever it was before: an answer instead of a request. */
  keep(bytes: number): void {
    const { ledger, owner } = this.connection;
    this.#stopWaiting();
    if (bytes > this.heldBytes) this.#count(bytes - this.heldBytes);
    else if (bytes < this.heldBytes) this.#giveBack(this.heldBytes - bytes);
    ledger.endFavour(this);
    if (owner.connections === 0) ledger.forgetIdle(owner);
    ledger.wake();
  }

  /** For the ledger: there is room. */
  goOn(): void {
    this.#stopWaiting();
    this.#holder.onMemory();
  }

  /** True when it came out of the part for small requests, where nobody waits. */
  #count(bytes: number): boolean {
    const { connection } = this;
    const { ledger, owner } = connection;
    if (this.#isSmall) {
      const isSmall = this.heldBytes + bytes <= ledger.limits.smallRequestBytesMax;
      if (isSmall && ledger.hasSmallRoom(owner, bytes)) {
        this.heldBytes += bytes;
        owner.smallBytes += bytes;
        ledger.smallUsed += bytes;
        return true;
      }
      this.#isSmall = false;
      owner.smallBytes -= this.heldBytes;
      ledger.smallUsed -= this.heldBytes;
      this.#countShared(this.heldBytes);
    }
    this.heldBytes += bytes;
    if (ledger.isFavoured(this)) this.#countFavoured(bytes);
    else this.#countShared(bytes);
    return false;
  }

  #countShared(bytes: number): void {
    const { ledger, owner } = this.connection;
    ledger.sharedUsed += bytes;
    owner.sharedBytes += bytes;
    this.connection.sharedBytes += bytes;
  }

  #countFavoured(bytes: number): void {
    const { ledger } = this.connection;
    const set = Math.min(bytes, ledger.limits.completionBytes - ledger.completionUsed);
    ledger.completionUsed += set;
    this.#completionBytes += set;
    if (set < bytes) this.#countShared(bytes - set);
  }

  #giveBack(bytes: number): void {
    const { connection } = this;
    const { ledger, owner } = connection;
    this.heldBytes -= bytes;
    if (this.#isSmall) {
      ledger.smallUsed -= bytes;
      owner.smallBytes -= bytes;
      return;
    }
    const set = Math.min(bytes, this.#completionBytes);
    this.#completionBytes -= set;
    ledger.completionUsed -= set;
    const shared = bytes - set;
    ledger.sharedUsed -= shared;
    owner.sharedBytes -= shared;
    connection.sharedBytes -= shared;
  }

  #stopWaiting(): void {
    if (!this.isWaiting) return;
    this.isWaiting = false;
    this.connection.owner.overdraftBytes -= this.#overdraftBytes;
    this.#overdraftBytes = 0;
    this.connection.ledger.endWait(this);
  }
}
