/** A connection limiter with a clock and connections that the test controls. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { resolveHttpLimits } from '../config.ts';
import {
  ConnectionLimiter,
  type ConnectionLimiterOptions,
  type ConnectionLimits,
  type ConnectionRefusal,
  type Entrance,
} from '../connection-limiter.ts';
import type { LimitedConnection } from '../limited-connection.ts';
import type { SocketTransport } from '../socket-transport.ts';

const publicPort: Entrance = { isEncrypted: false, isForOperators: false };

export class ConnectionDouble extends EventEmitter {
  readonly remoteAddress: string;
  readonly _handle: { readonly fd: number };
  isOpen = true;
  isGoodbyeSaid = false;
  idleSinceMs: number;
  guest: LimitedConnection | undefined = undefined;

  constructor(remoteAddress: string, descriptor: number, nowMs: number) {
    super();
    this.remoteAddress = remoteAddress;
    this._handle = { fd: descriptor };
    this.idleSinceMs = nowMs;
  }

  endIdle(): void {
    this.isGoodbyeSaid = true;
  }

  /** As a socket does: the event comes later, when the test says so. */
  destroy(): void {
    this.isOpen = false;
  }

  close(): void {
    this.isOpen = false;
    this.emit('close');
  }
}

export class ConnectionLimiterDouble {
  nowMs = 100_000;
  readonly refusals: [limit: ConnectionRefusal, owner: string][] = [];
  readonly limiter: ConnectionLimiter;

  constructor(limits: Partial<ConnectionLimits>, options: ConnectionLimiterOptions = {}) {
    this.limiter = new ConnectionLimiter(resolveHttpLimits(limits), {
      ...options,
      nowMs: () => this.nowMs,
      onRefused: (limit, owner) => this.refusals.push([limit, owner]),
    });
  }

  /** Undefined when it was refused. */
  dial(address: string, entrance: Partial<Entrance> = {}, descriptor = 20): ConnectionDouble | undefined {
    const made = new ConnectionDouble(address, descriptor, this.nowMs);
    const guest = this.limiter.admit(made as unknown as Socket, { ...publicPort, ...entrance });
    if (guest === undefined) return undefined;
    made.guest = guest;
    if (entrance.isEncrypted !== true) connected(made);
    return made;
  }

  mustDial(address: string, entrance: Partial<Entrance> = {}, descriptor = 20): ConnectionDouble {
    const made = this.dial(address, entrance, descriptor);
    if (made === undefined) throw new Error(`refused: ${this.refusals.at(-1)?.join(' ')}`);
    return made;
  }

  endHandshake(connection: ConnectionDouble): void {
    this.limiter.establish(connection.guest as LimitedConnection);
    connected(connection);
  }
}

function connected(connection: ConnectionDouble): void {
  const transport = { connection, destroy: () => connection.destroy() };
  (connection.guest as LimitedConnection).transport = transport as unknown as SocketTransport;
}
