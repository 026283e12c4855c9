/** Connections as the door sees them: those of one address in a list, the ones unused for longest in front. */
import type { Socket } from 'node:net';
import type { SocketTransport } from './socket-transport.ts';

/** A connection that was let in. It is in one list of its address: of handshakes under way, or of established ones. */
export class LimitedConnection {
  readonly socket: Socket;
  readonly address: ConnectionAddress;
  /** Undefined until a TLS handshake is done. */
  transport: SocketTransport | undefined = undefined;
  /** When it was put at the end of its list. */
  placedMs: number;
  next: LimitedConnection | undefined = undefined;
  previous: LimitedConnection | undefined = undefined;
  list: GuestList | undefined = undefined;

  constructor(socket: Socket, address: ConnectionAddress, nowMs: number) {
    this.socket = socket;
    this.address = address;
    this.placedMs = nowMs;
  }

  /** Since when no request is under way and nothing unsent; Infinity while there is. A handshake counts from its start. */
  get idleSinceMs(): number {
    return this.transport === undefined ? this.placedMs : this.transport.connection.idleSinceMs;
  }

  /** Closes it for another one: HTTP/2 clients are told that no request was lost. */
  evict(): void {
    this.transport?.connection.endIdle();
    (this.transport ?? this.socket).destroy();
  }
}

/** How many connections of one address are looked at to find an idle one. */
const looksMax = 64;

class GuestList {
  count = 0;
  #head: LimitedConnection | undefined = undefined;
  #tail: LimitedConnection | undefined = undefined;

  get first(): LimitedConnection | undefined {
    return this.#head;
  }

  append(guest: LimitedConnection, nowMs: number): void {
    guest.placedMs = nowMs;
    guest.list = this;
    guest.previous = this.#tail;
    if (this.#tail === undefined) this.#head = guest;
    else this.#tail.next = guest;
    this.#tail = guest;
    this.count++;
  }

  remove(guest: LimitedConnection): void {
    if (guest.previous === undefined) this.#head = guest.next;
    else guest.previous.next = guest.next;
    if (guest.next === undefined) this.#tail = guest.previous;
    else guest.next.previous = guest.previous;
    guest.next = undefined;
    guest.previous = undefined;
    guest.list = undefined;
    this.count--;
  }

  /**
   * The guest that has been idle for longest, if it was so at `beforeMs` already. Requests do not touch the list: that
   * would cost every one of them. Instead, who was used since it was placed is put at the end when it is looked at, as
   * in the clock algorithm of page caches, and the search ends at the first who was not. At most `looksMax` are looked
   * at, whatever the length of the list, so a flood of connections cannot make the search expensive: of a list longer
   * than that the choice is only the best of those looked at, and the next search goes on behind them.
   */
  takeIdle(beforeMs: number, nowMs: number): LimitedConnection | undefined {
    let idlest: LimitedConnection | undefined;
    let idlestSinceMs = Number.POSITIVE_INFINITY;
    for (let looks = Math.min(this.count, looksMax); looks > 0; looks--) {
      const guest = this.#head as LimitedConnection;
      const sinceMs = guest.idleSinceMs;
      if (sinceMs <= beforeMs && sinceMs < idlestSinceMs) {
        idlest = guest;
        idlestSinceMs = sinceMs;
      }
      if (sinceMs <= guest.placedMs) break;
      this.remove(guest);
      this.append(guest, nowMs);
    }
    return idlest;
  }
}

/** An address, an IPv6 network of 64 bits being one, and what is open from there. */
export class ConnectionAddress {
  readonly owner: string;
  readonly isTrustedProxy: boolean;
  readonly handshakes = new GuestList();
  readonly established = new GuestList();

  constructor(owner: string, isTrustedProxy: boolean) {
    this.owner = owner;
    this.isTrustedProxy = isTrustedProxy;
  }

  get count(): number {
    return this.handshakes.count + this.established.count;
  }

  /** A handshake that takes long is closed rather than a connection that was used once. */
  takeIdle(beforeMs: number, nowMs: number): LimitedConnection | undefined {
    return this.takeStalledHandshake(beforeMs) ?? this.established.takeIdle(beforeMs, nowMs);
  }

  takeStalledHandshake(beforeMs: number): LimitedConnection | undefined {
    const oldest = this.handshakes.first;
    return oldest !== undefined && oldest.placedMs <= beforeMs ? oldest : undefined;
  }
}
