import type { LargeLease } from './large-lease.ts';
import type { MemoryLimits } from './memory-config.ts';
import type { LedgerVerdict } from './memory-lease.ts';
import type { LedgerConnection, MemoryOwner } from './memory-owner.ts';
import { freeBytesNeeded, leavesEnough, overdraftShare } from './memory-share.ts';
import { WaitingLeases } from './waiting-leases.ts';

/**
 * The memory of requests that are not small: the shared part, and the completion reserve. The reserve is for one lease
 * at a time, the favoured one. All that it holds moves there, so that a body of the largest size always fits, and no
 * other lease is favoured before the reserve is empty again.
 */
export class LargeMemory {
  sharedUsed = 0;
  readonly waiting: WaitingLeases;
  readonly #limits: MemoryLimits;
  #favoured: LargeLease | undefined = undefined;
  #isWaking: boolean = false;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
    this.waiting = new WaitingLeases(limits.sharedBytes, limits.smallRequestBytesMax);
  }

  get completionUsed(): number {
    return this.#favoured === undefined ? 0 : this.#favoured.completionBytes;
  }

  hold(large: LargeLease, bytes: number): LedgerVerdict {
    const counted = this.#add(large, bytes);
    if (large.isRefused) return 'refused';
    if (counted === 0) return large.isWaiting ? 'waiting' : 'granted';
    if (!large.isWaiting) {
      if (this.#isWithinShare(large.connection, 0) || this.#takeFavour(large)) return 'granted';
      large.isWaiting = true;
      this.waiting.add(large);
    }
    large.overdraftBytes += counted;
    large.connection.owner.overdraftBytes += counted;
    if (!this.#isOverdrawn(large.connection.owner)) return 'waiting';
    // What it took counts as overdraft until the lease ends.
    this.leaveWaiting(large);
    large.isRefused = true;
    return 'refused';
  }

  count(large: LargeLease, bytes: number): void {
    this.#add(large, bytes);
  }

  hasRoomFor(large: LargeLease, bytes: number): boolean {
    const free = large === this.#favoured ? this.#limits.completionBytes - large.completionBytes : large.promisedBytes;
    return bytes <= free || this.#isWithinShare(large.connection, bytes - free);
  }

  /** As for a lease that holds nothing here yet. */
  hasSharedRoom(connection: LedgerConnection, bytes: number): boolean {
    return this.#isWithinShare(connection, bytes);
  }

  /** Releases overdraft first, then the shared part, then the reserve. The caller wakes waiting leases. */
  give(large: LargeLease, bytes: number): void {
    const shared = Math.min(bytes, large.sharedBytes - large.promisedBytes);
    this.#payOverdraft(large, Math.min(shared, large.overdraftBytes));
    this.#addShared(large, -shared);
    this.#addCompletion(large, shared - bytes);
  }

  /** The whole request has arrived: nothing stays promised. */
  complete(large: LargeLease): void {
    large.isComplete = true;
    this.#breakPromise(large);
  }

  /** What it took while waiting still counts as overdraft. */
  leaveWaiting(large: LargeLease): void {
    if (!large.isWaiting) return;
    large.isWaiting = false;
    this.waiting.remove(large);
  }

  /** The lease no longer holds anything here: it ended or has become small. */
  end(large: LargeLease): void {
    this.#stopWaiting(large);
    this.#addShared(large, -large.sharedBytes);
    this.#addCompletion(large, -large.completionBytes);
    if (large === this.#favoured) this.#favoured = undefined;
  }

  /** Wakes every lease that may continue; safe if one of them takes or releases bytes while it is woken. */
  wake(): void {
    if (this.waiting.count === 0 || this.#isWaking) return;
    this.#isWaking = true;
    try {
      for (let large = this.#takeNext(); large !== undefined; large = this.#takeNext()) large.holder.onMemory();
    } finally {
      this.#isWaking = false;
    }
  }

  /** A lease that may continue no longer waits. */
  #takeNext(): LargeLease | undefined {
    const large = this.waiting.firstWithin(this.#limits.sharedBytes - this.sharedUsed);
    if (large !== undefined) {
      this.#stopWaiting(large);
      // Counted now, so that no more leases are woken than there is room for.
      large.promisedBytes = this.#limits.smallRequestBytesMax;
      this.#addShared(large, large.promisedBytes);
      return large;
    }
    if (!this.#canFavour()) return undefined;
    const next = this.waiting.nextTurn(this.#limits.completionBytes);
    if (next !== undefined) this.#favour(next);
    return next;
  }

  #takeFavour(large: LargeLease): boolean {
    if (large.sharedBytes > this.#limits.completionBytes || !this.#canFavour()) return false;
    this.#favour(large);
    return true;
  }

  #favour(large: LargeLease): void {
    this.#stopWaiting(large);
    this.#favoured = large;
    const bytes = large.sharedBytes;
    this.#addShared(large, -bytes);
    this.#addCompletion(large, bytes);
  }

  /**
   * A favoured lease that has arrived, or whose messages have been consumed, returns to the shared part as soon as it
   * is within its share there.
   */
  #canFavour(): boolean {
    const favoured = this.#favoured;
    if (favoured === undefined) return true;
    const bytes = favoured.completionBytes;
    const isSmall = bytes <= this.#limits.smallRequestBytesMax;
    if (!favoured.isComplete && !isSmall) return false;
    // A small one is moved in any case: an idle stream must not keep others from the reserve.
    if (!isSmall && !this.#isWithinShare(favoured.connection, bytes)) return false;
    this.#addCompletion(favoured, -bytes);
    this.#addShared(favoured, bytes);
    this.#favoured = undefined;
    return true;
  }

  #isWithinShare({ sharedBytes, owner }: LedgerConnection, moreBytes: number): boolean {
    const free = this.#limits.sharedBytes - this.sharedUsed - moreBytes;
    return free >= freeBytesNeeded(this.#limits.sharedBytes, sharedBytes + moreBytes, owner.sharedBytes + moreBytes);
  }

  #isOverdrawn({ overdraftBytes }: MemoryOwner): boolean {
    const { sharedBytes, overdraftBytesMax } = this.#limits;
    return (
      overdraftBytes > overdraftBytesMax ||
      !leavesEnough(sharedBytes, overdraftBytes / overdraftShare, sharedBytes - this.sharedUsed)
    );
  }

  /** Returns how many bytes were added to the shared part that were not promised. */
  #add(large: LargeLease, bytes: number): number {
    let rest = bytes;
    if (large === this.#favoured) {
      const aside = Math.min(rest, this.#limits.completionBytes - large.completionBytes);
      this.#addCompletion(large, aside);
      rest -= aside;
    }
    const promised = Math.min(rest, large.promisedBytes);
    large.promisedBytes -= promised;
    rest -= promised;
    this.#addShared(large, rest);
    return rest;
  }

  #addShared(large: LargeLease, bytes: number): void {
    if (bytes === 0) return;
    const { connection } = large;
    large.sharedBytes += bytes;
    connection.sharedBytes += bytes;
    connection.owner.sharedBytes += bytes;
    this.sharedUsed += bytes;
    this.waiting.move(connection);
  }

  #addCompletion(large: LargeLease, bytes: number): void {
    large.completionBytes += bytes;
    large.connection.owner.completionBytes += bytes;
  }

  #stopWaiting(large: LargeLease): void {
    this.leaveWaiting(large);
    this.#payOverdraft(large, large.overdraftBytes);
  }

  #payOverdraft(large: LargeLease, bytes: number): void {
    large.overdraftBytes -= bytes;
    large.connection.owner.overdraftBytes -= bytes;
  }

  #breakPromise(large: LargeLease): void {
    const bytes = large.promisedBytes;
    large.promisedBytes = 0;
    this.#addShared(large, -bytes);
  }
}
