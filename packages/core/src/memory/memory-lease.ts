import { LargeLease } from './large-lease.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import type { LedgerConnection, MemoryOwner } from './memory-owner.ts';

/** Told that a lease that had to wait may continue. */
export interface LedgerHolder {
  onMemory(): void;
}

/**
 * `granted`: continue. `waiting`: what was counted stays, but take no more before `onMemory`. `refused`: too much
 * arrived while it had to wait; end the lease.
 */
export type LedgerVerdict = 'granted' | 'waiting' | 'refused';

/** What one request holds. Bytes are counted when they exist, so the count is right also while the lease waits. */
export class LedgerLease {
  readonly connection: LedgerConnection;
  readonly holder: LedgerHolder;
  heldBytes = 0;
  /** Undefined: all of it counts as small. */
  large: LargeLease | undefined = undefined;

  constructor(connection: LedgerConnection, holder: LedgerHolder) {
    this.connection = connection;
    this.holder = holder;
  }

  get isWaiting(): boolean {
    return this.large?.isWaiting ?? false;
  }

  /** Holds this many bytes more. */
  hold(bytes: number): LedgerVerdict {
    if (this.large === undefined) {
      if (this.#holdSmall(bytes)) return 'granted';
      return this.#enlarge(bytes, true);
    }
    this.heldBytes += bytes;
    // The part for small requests may have had no room for it before.
    if (!this.large.isWaiting && this.#becomeSmall(this.large)) {
      this.connection.ledger.largeMemory.wake();
      return 'granted';
    }
    return this.connection.ledger.largeMemory.hold(this.large, bytes);
  }

  /** As `hold`, for bytes that are held in any case: ask `hasRoomFor` first. */
  count(bytes: number): void {
    if (this.large === undefined) {
      if (!this.#holdSmall(bytes)) this.#enlarge(bytes, false);
      return;
    }
    this.heldBytes += bytes;
    this.connection.ledger.largeMemory.count(this.large, bytes);
  }

  /** Whether this many bytes more could be held without waiting. */
  hasRoomFor(bytes: number): boolean {
    const { connection, large, heldBytes } = this;
    const { ledger, owner } = connection;
    if (large !== undefined) return ledger.largeMemory.hasRoomFor(large, bytes);
    return (
      ledger.hasSmallRoom(owner, heldBytes, bytes) || ledger.largeMemory.hasSharedRoom(connection, heldBytes + bytes)
    );
  }

  /** Everything awaited has arrived: the completion reserve is free for the next lease that waits. */
  complete(): void {
    if (this.large === undefined) return;
    const { largeMemory } = this.connection.ledger;
    largeMemory.complete(this.large);
    largeMemory.wake();
  }

  /** At most what is held: bytes released after the end of the lease were released with it. */
  give(bytes: number): void {
    const given = Math.min(bytes, this.heldBytes);
    if (this.large === undefined) this.#giveSmall(given);
    else this.#giveLarge(this.large, given);
  }

  /** Sets the bytes held to this number, whatever it was before: an answer instead of a request. Never waits. */
  keep(bytes: number): void {
    const { large, heldBytes } = this;
    if (large !== undefined) {
      this.connection.ledger.largeMemory.leaveWaiting(large);
      this.connection.ledger.largeMemory.complete(large);
    }
    if (bytes > heldBytes) this.count(bytes - heldBytes);
    if (large !== undefined) this.#giveLarge(large, Math.max(0, heldBytes - bytes));
    else if (bytes < heldBytes) this.#giveSmall(heldBytes - bytes);
  }

  /** Releases all of it. The lease may be used again afterwards. */
  end(): void {
    const { large } = this;
    if (large === undefined) {
      this.#giveSmall(this.heldBytes);
      return;
    }
    const { ledger, owner } = this.connection;
    this.heldBytes = 0;
    this.large = undefined;
    ledger.largeMemory.end(large);
    if (owner.connections === 0) ledger.forgetIdle(owner);
    ledger.largeMemory.wake();
  }

  /** False when it is too large, or the owner holds its share of the part for small requests. Nobody waits there. */
  #holdSmall(bytes: number): boolean {
    const { connection } = this;
    const { ledger } = connection;
    const owner = connection.owner.isForgotten ? ledger.remember(connection) : connection.owner;
    if (!ledger.hasSmallRoom(owner, this.heldBytes, bytes)) return false;
    this.heldBytes += bytes;
    owner.smallBytes += bytes;
    ledger.smallUsed += bytes;
    return true;
  }

  /** All of it counts in the shared part from now on. */
  #enlarge(bytes: number, mayWait: boolean): LedgerVerdict {
    const { connection, heldBytes } = this;
    const { ledger } = connection;
    const large = new LargeLease(connection, this.holder);
    this.large = large;
    this.heldBytes = heldBytes + bytes;
    this.#takeSmall(ledger, connection.owner, -heldBytes);
    if (mayWait) return ledger.largeMemory.hold(large, this.heldBytes);
    ledger.largeMemory.count(large, this.heldBytes);
    return 'granted';
  }

  #giveSmall(bytes: number): void {
    const { ledger, owner } = this.connection;
    this.heldBytes -= bytes;
    this.#takeSmall(ledger, owner, -bytes);
    if (owner.connections === 0) ledger.forgetIdle(owner);
  }

  /** A lease that has become small again, like that of a stream between messages, counts as small. */
  #giveLarge(large: LargeLease, bytes: number): void {
    const { ledger, owner } = this.connection;
    this.heldBytes -= bytes;
    ledger.largeMemory.give(large, bytes);
    const { isWaiting } = large;
    if (this.#becomeSmall(large) && isWaiting) this.holder.onMemory();
    if (owner.connections === 0) ledger.forgetIdle(owner);
    ledger.largeMemory.wake();
  }

  #becomeSmall(large: LargeLease): boolean {
    const { ledger, owner } = this.connection;
    const isSmall = this.heldBytes === 0 || ledger.hasSmallRoom(owner, 0, this.heldBytes);
    if (!isSmall || large.isRefused) return false;
    this.large = undefined;
    ledger.largeMemory.end(large);
    this.#takeSmall(ledger, owner, this.heldBytes);
    return true;
  }

  #takeSmall(ledger: MemoryLedger, owner: MemoryOwner, bytes: number): void {
    owner.smallBytes += bytes;
    ledger.smallUsed += bytes;
  }
}
