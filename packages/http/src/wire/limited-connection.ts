/** Connections as the limiter sees them: those of one address in a list, the least recently used in front. */
import type { Socket } from 'node:net';
import type { SocketTransport } from './socket-transport.ts';

/** An admitted connection. It is in one list of its address: handshakes in progress, or established connections. */
export class LimitedConnection {
  readonly socket: Socket;
  readonly address: ConnectionAddress;
  /** Undefined until the TLS handshake is complete. */
  transport: SocketTransport | undefined = undefined;
  /** When it was put at the end of its list. */
  listedMs: number;
  next: LimitedConnection | undefined = undefined;
  previous: LimitedConnection | undefined = undefined;
  list: GuestList | undefined = undefined;

  constructor(socket: Socket, address: ConnectionAddress, nowMs: number) {
    this.socket = socket;
    this.address = address;
    this.listedMs = nowMs;
  }

  /** Since when it has no request and nothing unsent; Infinity while it has. A handshake counts from its start. */
  get idleSinceMs(): number {
    return this.transport === undefined ? this.listedMs : this.transport.connection.idleSinceMs;
  }

  /** Closes it for another one: HTTP/2 clients are told that no request was lost. */
  evict(): void {
    this.transport?.connection.endIdle();
    (this.transport ?? this.socket).destroy();
  }
}

/** How many connections of one address are checked to find an idle one. */
const checksMax = 64;

class GuestList {
  count = 0;
  #head: LimitedConnection | undefined = undefined;
  #tail: LimitedConnection | undefined = undefined;

  get first(): LimitedConnection | undefined {
    return this.#head;
  }

  append(guest: LimitedConnection, nowMs: number): void {
    guest.listedMs = nowMs;
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
   * The connection that has been idle for longest, if it was idle at `beforeMs` already. Requests do not move their
   * connection in the list: that would cost every request. Instead, a connection used since it was put in the list goes
   * to the end when it is checked, as in the clock algorithm of page caches, and the search ends at the first that was
   * not. At most `checksMax` are checked, whatever the length of the list, so a flood of connections cannot make the
   * search expensive: of a longer list the choice is only the best of those checked, and the next search continues
   * after.
   */
  takeIdle(beforeMs: number, nowMs: number): LimitedConnection | undefined {
    let idlest: LimitedConnection | undefined;
    let idlestSinceMs = Number.POSITIVE_INFINITY;
    for (let checks = Math.min(this.count, checksMax); checks > 0; checks--) {
      const guest = this.#head as LimitedConnection;
      const sinceMs = guest.idleSinceMs;
      if (sinceMs <= beforeMs && sinceMs < idlestSinceMs) {
        idlest = guest;
        idlestSinceMs = sinceMs;
      }
      if (sinceMs <= guest.listedMs) break;
      this.remove(guest);
      this.append(guest, nowMs);
    }
    return idlest;
  }
}

/** An address (or IPv6 /64 network) and what is open from there. */
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

  /** A slow handshake is closed rather than an established connection. */
  takeIdle(beforeMs: number, nowMs: number): LimitedConnection | undefined {
    return this.takeStalledHandshake(beforeMs) ?? this.established.takeIdle(beforeMs, nowMs);
  }

  takeStalledHandshake(beforeMs: number): LimitedConnection | undefined {
    const oldest = this.handshakes.first;
    return oldest !== undefined && oldest.listedMs <= beforeMs ? oldest : undefined;
  }
}
