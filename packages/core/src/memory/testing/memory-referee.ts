/**
 * Judges a ledger by what its leases hold and what it said, kept in the plainest way: lists that are searched, sums made
 * anew after every event. Owners are those of the simulated world, whatever the ledger takes them for. Throws at the first
 * rule that is broken.
 */
import type { MemoryLimits } from '../memory-config.ts';
import type { LedgerVerdict } from '../memory-lease.ts';
import type { MemoryLedger } from '../memory-ledger.ts';
import { overdraftShare } from '../memory-share.ts';
import type { SimulatedRequest } from './simulated-request.ts';

/** A connection that is its owner's only one is promised this part of its owner's share. */
const soleConnectionShare = 3 / 8;
const mebibyte = 1024 * 1024;

export class MemoryReferee {
  readonly ledger: MemoryLedger;
  readonly limits: MemoryLimits;
  readonly requests = new Set<SimulatedRequest>();
  #favoured: SimulatedRequest | undefined = undefined;
  /** What happened, to see that a simulation leaves nothing out. */
  readonly seen = new Map<string, number>();

  constructor(ledger: MemoryLedger, limits: MemoryLimits) {
    this.ledger = ledger;
    this.limits = limits;
  }

  note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** What was held before, and what the ledger said to so many bytes more. */
  judge(request: SimulatedRequest, before: HoldingBefore, bytes: number, verdict: LedgerVerdict): void {
    this.note(verdict);
    const { large } = request.lease;
    const isAside = before.completionBytes > 0;
    if (verdict === 'granted') {
      const isLarge = large !== undefined && !isAside && large.completionBytes === 0 && before.promisedBytes < bytes;
      if (isLarge) this.#judgeGrant(request);
      return;
    }
    must(!isAside || request.heldBytes > this.limits.completionBytes, 'the favoured lease can complete its body');
    if (verdict === 'waiting') this.#judgeOverdraft(request.owner);
    if (before.isWaiting) return;
    if (request.heldBytes <= this.limits.smallRequestBytesMax) this.#judgeSmall(request);
    const { owner } = request;
    const held = this.#sumOf(owner, sharedBytesOf);
    const others = this.#holders(sharedBytesOf, owner);
    const promised = soleConnectionShare * shareBytes(this.limits.sharedBytes, others * (1 + overdraftShare));
    must(held > promised, `an owner within its share goes on: ${held} of ${promised} bytes, ${others} others`);
  }

  /** After every event, when nothing is under way. */
  settled(): void {
    const { ledger, limits } = this;
    let [shared, small, completion] = [0, 0, 0];
    for (const request of this.requests) {
      const { lease } = request;
      const { large } = lease;
      must(lease.heldBytes === request.heldBytes, 'a lease holds what its request took');
      must(lease.isWaiting === request.isWaiting, 'a lease waits until its request is told');
      shared += sharedBytesOf(request);
      small += smallBytesOf(request);
      completion += large?.completionBytes ?? 0;
      const counted = large === undefined ? 0 : large.sharedBytes - large.promisedBytes + large.completionBytes;
      must(large === undefined || counted === lease.heldBytes, 'every byte is counted in one part');
      must((large?.overdraftBytes ?? 0) <= sharedBytesOf(request), 'an overdraft is held in the shared part');
      must((large?.overdraftBytes ?? 0) >= request.overdraftBytes, 'what is taken while waiting is an overdraft');
    }
    must(shared === ledger.sharedUsed && small === ledger.smallUsed, 'the parts are the sums of the leases');
    must(completion === ledger.completionUsed, 'what is set aside is held by leases');
    must(shared >= 0 && shared <= limits.sharedBytes, 'the shared part is not exceeded');
    must(small >= 0 && small <= limits.smallBytes, 'the part for small requests is not exceeded');
    must(completion >= 0 && completion <= limits.completionBytes, 'one largest body is set aside, no more');
    const owners = this.#holders(sharedBytesOf);
    const potential = limits.sharedBytes / (limits.sharedBytes - shared);
    must(potential <= 1 + (1 + overdraftShare) * owners + 1e-9, 'no owner denies the others more than its share');
    this.#checkLostWakeUps();
    this.#checkFavoured();
  }

  /** Everybody has gone. */
  over(): void {
    must(this.ledger.usedBytes === 0, 'all memory is given back');
    must(this.ledger.ownerCount === 0 && this.ledger.waitingCount === 0, 'nobody is remembered');
  }

  /** By the rule as it is written, without the roots of the ledger. */
  #judgeGrant(request: SimulatedRequest): void {
    const free = this.limits.sharedBytes - this.ledger.sharedUsed;
    const share = (free * free) / this.limits.sharedBytes;
    const owner = this.#sumOf(request.owner, sharedBytesOf);
    let connection = 0;
    for (const other of this.requests) if (other.connection === request.connection) connection += sharedBytesOf(other);
    const left = share - owner;
    must(left >= -1 && connection * share <= left * left * (1 + 1e-9) + mebibyte, 'no grant is above the share');
  }

  #judgeOverdraft(owner: string): void {
    const free = this.limits.sharedBytes - this.ledger.sharedUsed;
    const overdraft = this.#sumOf(owner, ({ overdraftBytes }) => overdraftBytes);
    const allowed = Math.min(this.limits.overdraftBytesMax, (overdraftShare * free * free) / this.limits.sharedBytes);
    must(overdraft <= allowed + 1, 'an owner that has overdrawn is refused');
  }

  #judgeSmall(request: SimulatedRequest): void {
    const held = this.#sumOf(request.owner, smallBytesOf) + request.heldBytes;
    const others = this.#holders(smallBytesOf, request.owner);
    must(held > shareBytes(this.limits.smallBytes, others), 'a small request of a modest owner goes on');
  }

  #checkLostWakeUps(): void {
    let waiting = 0;
    for (const { lease } of this.requests) {
      if (!lease.isWaiting) continue;
      waiting += 1;
      must(!lease.hasRoomFor(this.limits.smallRequestBytesMax), 'a lease is told as soon as it may go on');
    }
    must(this.ledger.waitingCount === waiting, 'those that wait are counted');
    must(waiting === 0 || this.ledger.completionUsed > 0, 'while some wait, one of them can complete');
  }

  /** Who was favoured stays so until it has arrived or shrunk. */
  #checkFavoured(): void {
    const before = this.#favoured;
    if (before !== undefined && this.requests.has(before)) {
      const isDone = before.isComplete || before.heldBytes <= this.limits.smallRequestBytesMax;
      must(
        isDone || (before.lease.large?.completionBytes ?? 0) > 0,
        'the favoured lease stays so until it is complete',
      );
    }
    this.#favoured = undefined;
    for (const request of this.requests) if ((request.lease.large?.completionBytes ?? 0) > 0) this.#favoured = request;
  }

  #sumOf(owner: string, bytesOf: (request: SimulatedRequest) => number): number {
    let sum = 0;
    for (const request of this.requests) if (request.owner === owner) sum += bytesOf(request);
    return sum;
  }

  /** How many owners, but for one, hold any. */
  #holders(bytesOf: (request: SimulatedRequest) => number, except = ''): number {
    const owners = new Set<string>();
    for (const request of this.requests)
      if (request.owner !== except && bytesOf(request) > 0) owners.add(request.owner);
    return owners.size;
  }
}

export interface HoldingBefore {
  readonly completionBytes: number;
  readonly promisedBytes: number;
  readonly isWaiting: boolean;
}

/** What is promised to an owner beside so many others: the corollary in `memory-share.ts`. */
export function shareBytes(partBytes: number, others: number): number {
  return Math.floor(partBytes / (2 + others) ** 2);
}

function sharedBytesOf({ lease }: SimulatedRequest): number {
  return lease.large?.sharedBytes ?? 0;
}

function smallBytesOf({ lease }: SimulatedRequest): number {
  return lease.large === undefined ? lease.heldBytes : 0;
}

function must(claim: boolean, rule: string): asserts claim {
  if (!claim) throw new Error(`broken rule: ${rule}`);
}
