/** Changes the protocol of an HTTP/1.1 connection (RFC 9110, 7.8). Limits of the connection continue to count it. */
import type { ConnectionHost } from './connection-host.ts';
import type { ConnectionMemory } from './memory.ts';
import type { Connection, Transport } from './transport.ts';
import type { WireExchange, WireHandler } from './wire-exchange.ts';

/** What the connection of the new protocol takes over. */
export interface UpgradedTransport {
  readonly host: ConnectionHost;
  readonly transport: Transport;
  /** Of the owner of the request. The new connection must end its leases. */
  readonly memory: ConnectionMemory;
  /** The new connection must call it when the transport is closed. */
  release(): void;
}

export interface ProtocolUpgrade {
  /** Sends the 101 and makes the connection of the new protocol; bytes behind the request come by its `receive`. */
  take(upgraded: UpgradedTransport): Connection;
}

/**
 * Decides about a request that asks for another protocol. Undefined: it is served as if it had not asked. A handler:
 * it is answered by that one, which refuses it.
 */
export type OnUpgrade = (exchange: WireExchange) => ProtocolUpgrade | WireHandler | undefined;
