/** Ledgers with one bug each. A simulation that finds none of them would prove nothing by finding none in ours. */
import type { LargeLease } from '../large-lease.ts';
import { LargeMemory } from '../large-memory.ts';
import type { MemoryLimits } from '../memory-config.ts';
import type { LedgerVerdict } from '../memory-lease.ts';
import { MemoryLedger } from '../memory-ledger.ts';
import type { LedgerConnection, MemoryOwner } from '../memory-owner.ts';
import type { MakeLedger } from './memory-world.ts';

class MissesWakeUps extends LargeMemory {
  #count = 0;

  override wake(): void {
    this.#count += 1;
    if (this.#count % 10 !== 0) super.wake();
  }
}

class WakesOnlyWhenLeasesEnd extends LargeMemory {
  #hasEnded: boolean = false;

  override end(large: LargeLease): void {
    super.end(large);
    this.#hasEnded = true;
  }

  override wake(): void {
    if (this.#hasEnded) super.wake();
    this.#hasEnded = false;
  }
}

class TellsTheEnded extends LargeMemory {
  override end(large: LargeLease): void {
    const { isWaiting } = large;
    super.end(large);
    if (isWaiting) large.holder.onMemory();
  }
}

class LosesAByte extends LargeMemory {
  override give(large: LargeLease, bytes: number): void {
    super.give(large, Math.max(0, bytes - 1));
  }
}

class CountsAnswersTwice extends LargeMemory {
  override count(large: LargeLease, bytes: number): void {
    super.count(large, bytes);
    super.count(large, bytes);
  }
}

class LetsTheWaitingGoOn extends LargeMemory {
  override hold(large: LargeLease, bytes: number): LedgerVerdict {
    const verdict = super.hold(large, bytes);
    if (verdict === 'waiting') this.leaveWaiting(large);
    return verdict === 'waiting' ? 'granted' : verdict;
  }
}

class RefusesInsteadOfWaiting extends LargeMemory {
  override hold(large: LargeLease, bytes: number): LedgerVerdict {
    return this.hasRoomFor(large, bytes) ? super.hold(large, bytes) : 'refused';
  }
}

class NeverRefuses extends LargeMemory {
  override hold(large: LargeLease, bytes: number): LedgerVerdict {
    const verdict = super.hold(large, bytes);
    if (verdict !== 'refused') return verdict;
    large.isRefused = false;
    large.isWaiting = true;
    this.waiting.add(large);
    return 'waiting';
  }
}

class ForgivesOverdrafts extends LargeMemory {
  override hold(large: LargeLease, bytes: number): LedgerVerdict {
    const verdict = super.hold(large, bytes);
    large.connection.owner.overdraftBytes -= large.overdraftBytes;
    large.overdraftBytes = 0;
    return verdict;
  }
}

/** What was set aside for one lease is given to the next while the first still holds it. */
class PassesFavourTooEarly extends LargeMemory {
  override complete(large: LargeLease): void {
    super.complete(large);
    const bytes = large.completionBytes;
    if (bytes === 0) return;
    const { sharedBytes } = large;
    this.end(large);
    this.count(large, sharedBytes + bytes);
  }
}

class TakesEverybodyForOne extends MemoryLedger {
  override connection(): LedgerConnection {
    return super.connection('everybody');
  }

  override guest(): LedgerConnection {
    return super.guest('everybody');
  }
}

class TakesConnectionsForOwners extends MemoryLedger {
  #count = 0;

  override connection(ownerName: string): LedgerConnection {
    this.#count += 1;
    return super.connection(`${ownerName}-${this.#count}`);
  }
}

class RemembersEverybody extends MemoryLedger {
  override forgetIdle(): void {}
}

class TakesLargeForSmall extends MemoryLedger {
  override hasSmallRoom(_owner: MemoryOwner, _heldBytes: number, moreBytes: number): boolean {
    return this.smallUsed + moreBytes <= this.limits.smallBytes;
  }
}

class SharesSmallRoomWithTheFirst extends MemoryLedger {
  override hasSmallRoom(_owner: MemoryOwner, heldBytes: number, moreBytes: number): boolean {
    const isSmall = heldBytes + moreBytes <= this.limits.smallRequestBytesMax;
    return isSmall && this.smallUsed + moreBytes <= this.limits.smallBytes;
  }
}

function withLarge(Large: new (limits: MemoryLimits) => LargeMemory): MakeLedger {
  return (limits) => Object.assign(new MemoryLedger(limits), { largeMemory: new Large(limits) });
}

function withLimits(bend: (limits: MemoryLimits) => Partial<MemoryLimits>): MakeLedger {
  return (limits) => new MemoryLedger({ ...limits, ...bend(limits) });
}

export const memoryBugs: Readonly<Record<string, MakeLedger>> = {
  'misses one wake-up in ten': withLarge(MissesWakeUps),
  'wakes only when a lease ends': withLarge(WakesOnlyWhenLeasesEnd),
  'tells a lease that has ended': withLarge(TellsTheEnded),
  'loses a byte of what is given back': withLarge(LosesAByte),
  'counts answers twice': withLarge(CountsAnswersTwice),
  'lets the waiting go on': withLarge(LetsTheWaitingGoOn),
  'refuses instead of waiting': withLarge(RefusesInsteadOfWaiting),
  'never refuses': withLarge(NeverRefuses),
  'forgives overdrafts': withLarge(ForgivesOverdrafts),
  'passes the favour on too early': withLarge(PassesFavourTooEarly),
  'takes everybody for one owner': (limits) => new TakesEverybodyForOne(limits),
  'takes connections for owners': (limits) => new TakesConnectionsForOwners(limits),
  'remembers idle owners': (limits) => new RemembersEverybody(limits),
  'takes large requests for small ones': (limits) => new TakesLargeForSmall(limits),
  'gives the small part to who comes first': (limits) => new SharesSmallRoomWithTheFirst(limits),
  'shares half as much again': withLimits(({ sharedBytes }) => ({ sharedBytes: sharedBytes * 1.5 })),
  'sets aside half a body': withLimits(({ completionBytes }) => ({ completionBytes: completionBytes >> 1 })),
  'keeps no reserve for small requests': withLimits(() => ({ smallBytes: 1 })),
};
