/** Owners of all kinds, honest and not, that share one ledger. The referee checks the ledger after every event. */
import { type MemoryLimits, resolveMemoryLimits } from '../memory-config.ts';
import type { MemoryLedger } from '../memory-ledger.ts';
import type { LedgerConnection } from '../memory-owner.ts';
import { Dice } from './dice.ts';
import { MemoryReferee } from './memory-referee.ts';
import { type RequestPlan, SimulatedRequest, type WireLimits } from './simulated-request.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

const kinds = ['small', 'uploads', 'slow', 'silent', 'flood', 'stream'] as const;
type OwnerKind = (typeof kinds)[number];

export type MakeLedger = (limits: MemoryLimits) => MemoryLedger;

class SimulatedOwner {
  readonly name: string;
  readonly kind: OwnerKind;
  readonly connections: LedgerConnection[] = [];

  constructor(name: string, kind: OwnerKind) {
    this.name = name;
    this.kind = kind;
  }
}

export interface WorldOptions {
  readonly seed: number;
  readonly makeLedger: MakeLedger;
  readonly steps: number;
  readonly wire?: WireLimits;
  readonly kinds?: readonly OwnerKind[];
}

export class MemoryWorld {
  readonly referee: MemoryReferee;
  readonly #dice: Dice;
  readonly #ledger: MemoryLedger;
  readonly #limits: MemoryLimits;
  readonly #wire: WireLimits;
  readonly #bodyBytesMax: number;
  readonly #owners: SimulatedOwner[] = [];
  readonly #steps: number;

  constructor({ seed, makeLedger, steps, wire, kinds: chosen = kinds }: WorldOptions) {
    const dice = new Dice(seed);
    this.#dice = dice;
    this.#steps = steps;
    this.#bodyBytesMax = dice.between(1, 8) * mebibyte;
    const bytesMax = this.#bodyBytesMax * dice.between(3, 12);
    this.#limits = resolveMemoryLimits({ bytesMax, bodyBytesMax: this.#bodyBytesMax });
    this.#wire = wire ?? { waitSteps: dice.between(5, 40), stallSteps: dice.between(5, 40) };
    this.#ledger = makeLedger(this.#limits);
    this.referee = new MemoryReferee(this.#ledger, this.#limits);
    // Now and then many owners of one kind act together.
    const isTogether = dice.oneIn(3);
    const count = dice.between(1, isTogether ? 40 : 8);
    const common = dice.pick(chosen);
    for (let index = 0; index < count; index++) {
      this.#owners.push(new SimulatedOwner(`owner-${index}`, isTogether && index > 0 ? common : dice.pick(chosen)));
    }
  }

  run(): void {
    for (let step = 0; step < this.#steps; step++) {
      for (const owner of this.#owners) this.#act(owner);
      this.#stepRequests();
    }
    this.finish(20_000);
  }

  /** Nobody sends anything new. Whoever still waits then, waits for ever. */
  finish(stepsMax: number): void {
    for (let step = 0; step < stepsMax && this.referee.requests.size > 0; step++) this.#stepRequests();
    const left = [...this.referee.requests].filter(({ isWaiting }) => isWaiting).length;
    if (this.referee.requests.size > 0) throw new Error(`broken rule: every request ends, and ${left} still wait`);
    for (const { connections } of this.#owners) for (const connection of connections) connection.close();
    this.referee.over();
  }

  #stepRequests(): void {
    for (const request of [...this.referee.requests]) {
      request.step();
      this.referee.settled();
    }
  }

  #act(owner: SimulatedOwner): void {
    const dice = this.#dice;
    const { connections, kind } = owner;
    if (connections.length === 0 || dice.oneIn(kind === 'flood' ? 2 : 30)) {
      if (connections.length < (kind === 'flood' ? 30 : 4)) connections.push(this.#ledger.connection(owner.name));
    } else if (dice.oneIn(40)) {
      // Its requests end later.
      const [closed] = connections.splice(dice.below(connections.length), 1);
      closed?.close();
      closed?.close();
    }
    if (connections.length === 0 || this.referee.requests.size > 60) return;
    const isBusy = kind === 'flood' || kind === 'small';
    if (!dice.oneIn(isBusy ? 2 : 5)) return;
    const connection = dice.oneIn(8) ? this.#ledger.guest(owner.name) : dice.pick(connections);
    const request = new SimulatedRequest(owner.name, connection, this.#plan(kind), this.#wire, this.referee, (told) =>
      this.#meddle(told),
    );
    // What a request takes before its body.
    request.hold(2 * kibibyte);
    this.referee.settled();
  }

  #plan(kind: OwnerKind): RequestPlan {
    const dice = this.#dice;
    const isSmall = kind === 'small';
    const bodyBytes = isSmall ? dice.between(1, 8 * kibibyte) : this.#largeBody();
    const isSilent = kind === 'silent' || (kind === 'flood' && dice.oneIn(2));
    return {
      bodyBytes,
      chunkBytes: kind === 'slow' ? dice.between(8, 20) * kibibyte : dice.pick([16, 64, 256, 2048]) * kibibyte,
      windowBytes: dice.pick([0, 64, 64, 256, 2048]) * kibibyte,
      silentAfterBytes: isSilent ? dice.between(1, bodyBytes) : Infinity,
      runSteps: dice.between(0, 6),
      answerBytes: dice.oneIn(4) ? dice.between(1, mebibyte) : dice.between(0, 4 * kibibyte),
      isStream: kind === 'stream',
    };
  }

  /** The largest ones are as likely as all others. */
  #largeBody(): number {
    const bytesMax = this.#bodyBytesMax - 2 * kibibyte;
    return this.#dice.oneIn(2) ? bytesMax : this.#dice.between(1, bytesMax);
  }

  /** Holders do what they like when they are told, also with the leases of others. */
  #meddle(told: SimulatedRequest): void {
    const dice = this.#dice;
    const other = dice.pick([...this.referee.requests]);
    const choice = dice.below(12);
    if (choice < 4) told.step();
    else if (choice === 4) told.end('given up');
    else if (choice === 5) told.give(dice.between(0, told.heldBytes));
    else if (choice === 6 && other !== told) other.step();
    else if (choice === 7) other.end('given up');
    else if (choice === 8 && other.state !== 'ended') other.give(dice.between(0, other.heldBytes));
    else if (choice === 9) told.complete();
  }
}
