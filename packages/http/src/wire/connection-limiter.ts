/**
 * Admits connections or refuses them: a limit in total, one per address, and both again for TLS handshakes in progress.
 * At a limit an idle connection is closed for the new one, if there is any. One limiter may serve several ports.
 */
import type { Socket } from 'node:net';
import { type AddressRanges, noAddresses } from './address-ranges.ts';
import type { HttpLimits } from './config.ts';
import { ConnectionsByAddress } from './connections-by-address.ts';
import { ownerOfAddress } from './ip-address.ts';
import { type ConnectionAddress, LimitedConnection } from './limited-connection.ts';

/** The limits that belong to a connection limiter rather than to one server. */
export const connectionLimitNames = [
  'connectionsMax',
  'connectionsPerAddressMax',
  'handshakesMax',
  'handshakesPerAddressMax',
  'operatorConnections',
  'evictionIdleMsMin',
] as const;

export type ConnectionLimits = Pick<HttpLimits, (typeof connectionLimitNames)[number]>;

/** The limits that may refuse a connection. */
export const connectionRefusals = [
  'connectionsMax',
  'connectionsPerAddressMax',
  'descriptors',
  'handshakesMax',
  'handshakesPerAddressMax',
] as const;

export type ConnectionRefusal = (typeof connectionRefusals)[number];

export interface ConnectionLimiterOptions {
  /** Connections from these addresses are not limited by address: they act for many clients. */
  readonly trustedProxies?: AddressRanges | undefined;
  readonly onRefused?: ((limit: ConnectionRefusal, owner: string) => void) | undefined;
  /**
   * Connections are admitted while their descriptors are below this. A process gets the lowest free descriptor, so
   * all from here to its limit are left for files and child processes, however many of those are open already.
   */
  readonly descriptorsMax?: (() => number) | undefined;
  readonly nowMs?: () => number;
}

/** What a port tells about its connections. */
export interface Entrance {
  /** A TLS handshake comes first. */
  readonly isEncrypted: boolean;
  /** A port for operators, for whom some connections are reserved. */
  readonly isForOperators: boolean;
}

export class ConnectionLimiter {
  readonly #limits: ConnectionLimits;
  readonly #trustedProxies: AddressRanges;
  readonly #onRefused: (limit: ConnectionRefusal, owner: string) => void;
  readonly #descriptorsMax: () => number;
  readonly #nowMs: () => number;
  readonly #proxies = new ConnectionsByAddress();
  readonly #strangers = new ConnectionsByAddress();
  /** Connections refused so far, by the limit that they met. */
  readonly refused: Readonly<Record<ConnectionRefusal, number>>;
  readonly #refused = Object.fromEntries(connectionRefusals.map((limit) => [limit, 0])) as Record<
    ConnectionRefusal,
    number
  >;
  /** Connections closed so far to make room for others. */
  evicted = 0;
  constructor(limits: ConnectionLimits, options: ConnectionLimiterOptions = {}) {
    this.#limits = limits;
    this.refused = this.#refused;
    this.#trustedProxies = options.trustedProxies ?? noAddresses;
    this.#onRefused = options.onRefused ?? (() => {});
    this.#descriptorsMax = options.descriptorsMax ?? (() => Number.POSITIVE_INFINITY);
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  get connections(): number {
    return this.#proxies.connections + this.#strangers.connections;
  }

  get handshakes(): number {
    return this.#proxies.handshakes + this.#strangers.handshakes;
  }

  /** Undefined: refused, and the caller must destroy the socket. */
  admit(socket: Socket, entrance: Entrance): LimitedConnection | undefined {
    const peerAddress = socket.remoteAddress ?? '';
    const isTrustedProxy = this.#trustedProxies.has(peerAddress);
    const crowd = isTrustedProxy ? this.#proxies : this.#strangers;
    const address = crowd.addressOf(ownerOfAddress(peerAddress), isTrustedProxy);
    const nowMs = this.#nowMs();
    const refusal = this.#refusalOf(address, descriptorOf(socket), entrance, nowMs);
    if (refusal !== undefined) {
      crowd.forgetIfEmpty(address);
      this.#refused[refusal]++;
      this.#onRefused(refusal, address.owner);
      return undefined;
    }
    const guest = new LimitedConnection(socket, address, nowMs);
    crowd.enter(guest, entrance.isEncrypted, nowMs);
    socket.once('close', () => crowd.leave(guest));
    return guest;
  }

  /** The connection's handshake is complete. */
  establish(guest: LimitedConnection): void {
    const crowd = guest.address.isTrustedProxy ? this.#proxies : this.#strangers;
    crowd.establish(guest, this.#nowMs());
  }

  /** The limit that refuses when no idle connection can make room. Handshakes come first: ending one frees both. */
  #refusalOf(
    address: ConnectionAddress,
    descriptor: number,
    { isEncrypted, isForOperators }: Entrance,
    nowMs: number,
  ): ConnectionRefusal | undefined {
    const limits = this.#limits;
    const { isTrustedProxy } = address;
    const more = isForOperators ? limits.operatorConnections : 0;
    const beforeMs = nowMs - limits.evictionIdleMsMin;
    if (isEncrypted) {
      const isAtShare = !isTrustedProxy && address.handshakes.count >= limits.handshakesPerAddressMax + more;
      if (isAtShare && !this.#evict(address.takeStalledHandshake(beforeMs))) return 'handshakesPerAddressMax';
      const isAtLimit = this.handshakes >= limits.handshakesMax + more;
      if (isAtLimit && !this.#evict(this.#takeStalledHandshake(isTrustedProxy, beforeMs))) return 'handshakesMax';
    }
    const isAtShare = !isTrustedProxy && address.count >= limits.connectionsPerAddressMax + more;
    if (isAtShare && !this.#evict(address.takeIdle(beforeMs, nowMs))) return 'connectionsPerAddressMax';
    const isShort = descriptor >= this.#descriptorsMax() + more;
    const isAtLimit = this.connections >= limits.connectionsMax + more;
    if ((isAtLimit || isShort) && !this.#evict(this.#takeIdle(isTrustedProxy, beforeMs, nowMs))) {
      return isAtLimit ? 'connectionsMax' : 'descriptors';
    }
    return undefined;
  }

  #evict(guest: LimitedConnection | undefined): boolean {
    if (guest === undefined) return false;
    this.evicted++;
    // It is uncounted at once; the socket reports its close later.
    (guest.address.isTrustedProxy ? this.#proxies : this.#strangers).leave(guest);
    guest.evict();
    return true;
  }

  /** Searches the addresses with the most connections. A proxy never loses a connection to an unknown address. */
  #takeIdle(isForProxy: boolean, beforeMs: number, nowMs: number): LimitedConnection | undefined {
    return (
      this.#strangers.takeIdle(beforeMs, nowMs) ?? (isForProxy ? this.#proxies.takeIdle(beforeMs, nowMs) : undefined)
    );
  }

  #takeStalledHandshake(isForProxy: boolean, beforeMs: number): LimitedConnection | undefined {
    return (
      this.#strangers.takeStalledHandshake(beforeMs) ??
      (isForProxy ? this.#proxies.takeStalledHandshake(beforeMs) : undefined)
    );
  }
}

/** The descriptor, which a socket does not expose. Where a version of Node keeps it elsewhere, this limit is off. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd ?? -1;
}
