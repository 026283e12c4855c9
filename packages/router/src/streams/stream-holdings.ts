/**
 * Charges what streams keep in memory to their owners, in the ledger that counts their requests as well. A stream whose
 * owner has little room left is told so, and takes and makes less until there is more.
 */
import type { LedgerLease, MemoryLedger } from '@millrace/core';

export interface StreamHoldingsParts {
  readonly ledger: Pick<MemoryLedger, 'guest'>;
  readonly clock: { alarm(delayMs: number, callback: () => void): () => void };
}

/** Memory becomes scarce when 64 KiB more would exceed the owner's share, and stops being scarce when 256 KiB more would fit. */
const scarceBytes = 64 * 1024;
const roomyBytes = 256 * 1024;
/** How often streams for which it is scarce look again. */
const lookMs = 100;

export class StreamHoldings {
  readonly #parts: StreamHoldingsParts;
  readonly #scarce = new Set<HeldMemory>();
  #isLooking: boolean = false;

  constructor(parts: StreamHoldingsParts) {
    this.#parts = parts;
  }

  open(owner: string, listener: ScarcityListener): HeldMemory {
    return new HeldMemory(this, this.#parts.ledger, owner, listener);
  }

  /** Whether an owner may hold so many bytes more. */
  hasRoomFor(owner: string, bytes: number): boolean {
    return this.#parts.ledger.guest(owner).lease(silentHolder).hasRoomFor(bytes);
  }

  /** For what it has opened: `isScarce` has changed. */
  follow(held: HeldMemory): void {
    if (held.isScarce) this.#scarce.add(held);
    else this.#scarce.delete(held);
    if (this.#isLooking || this.#scarce.size === 0) return;
    this.#isLooking = true;
    this.#parts.clock.alarm(lookMs, () => {
      this.#isLooking = false;
      this.#look();
    });
  }

  /** One stream of an owner at a time: what it takes then is counted before the next looks. */
  #look(): void {
    const owners = new Set<string>();
    for (const held of [...this.#scarce]) {
      if (owners.has(held.owner) || !held.look()) continue;
      owners.add(held.owner);
    }
    const [next] = this.#scarce;
    if (next !== undefined) this.follow(next);
  }
}

/** A stream that is told whether memory is scarce for it. */
export interface ScarcityListener {
  onScarcity(isScarce: boolean): void;
}

const silentHolder = { onMemory: (): void => {} };

/** What one stream keeps. */
export class HeldMemory {
  readonly #ledger: Pick<MemoryLedger, 'guest'>;
  readonly #holdings: StreamHoldings;
  readonly #listener: ScarcityListener;
  #owner: string;
  /** Undefined while it keeps nothing: most streams are idle. */
  #lease: LedgerLease | undefined;
  #bytes = 0;
  #isScarce: boolean = false;

  constructor(
    holdings: StreamHoldings,
    ledger: Pick<MemoryLedger, 'guest'>,
    owner: string,
    listener: ScarcityListener,
  ) {
    this.#holdings = holdings;
    this.#ledger = ledger;
    this.#owner = owner;
    this.#listener = listener;
  }

  get owner(): string {
    return this.#owner;
  }

  get isScarce(): boolean {
    return this.#isScarce;
  }

  /** A stream of an earlier process has no owner until its first client comes. */
  adopt(owner: string): void {
    if (this.#owner !== '' || owner === '') return;
    const bytes = this.#bytes;
    this.keep(0);
    this.#owner = owner;
    this.keep(bytes);
  }

  /** The stream keeps so many bytes now. */
  keep(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more === 0) return;
    this.#bytes = bytes;
    if (bytes === 0) {
      this.#lease?.end();
      this.#lease = undefined;
    } else {
      this.#lease ??= this.#newLease();
      if (more > 0) this.#lease.count(more);
      else this.#lease.give(-more);
    }
    if (this.#isScarce) this.look();
    else if (more > 0 && !this.#hasRoomFor(scarceBytes)) this.#change(true);
  }

  /**
   * Counts an input of so many bytes, until `keep` says what became of it. False: it is above its owner's share, and memory is
   * scarce for the stream.
   */
  claim(bytes: number): boolean {
    if (bytes === 0) return true;
    if (this.#hasRoomFor(bytes)) {
      this.keep(this.#bytes + bytes);
      return true;
    }
    if (!this.#isScarce) this.#change(true);
    return false;
  }

  /** Whether there is room again. */
  look(): boolean {
    if (!this.#isScarce || !this.#hasRoomFor(roomyBytes)) return false;
    this.#change(false);
    return true;
  }

  /** The stream is over. */
  end(): void {
    this.keep(0);
    if (this.#isScarce) this.#change(false);
  }

  #hasRoomFor(bytes: number): boolean {
    return (this.#lease ?? this.#newLease()).hasRoomFor(bytes);
  }

  #newLease(): LedgerLease {
    return this.#ledger.guest(this.#owner).lease(silentHolder);
  }

  #change(isScarce: boolean): void {
    this.#isScarce = isScarce;
    this.#holdings.follow(this);
    this.#listener.onScarcity(isScarce);
  }
}
