/** What a connection needs of the thing under it: a socket, or a test's list of bytes. */
import type { Peer } from '../exchange.ts';

export interface Transport {
  readonly peer: Peer;
  /** Bytes handed over and not yet taken by the kernel. */
  readonly pendingBytes: number;
  /** Bytes that the kernel has taken so far, also of a large piece that it takes bit by bit. */
  readonly takenBytes: number;
  /**
   * Hands pieces over, in order. `onTaken`, where given, is called once the kernel has them or never will. The pieces
   * belong to the transport until then.
   */
  write(pieces: readonly Uint8Array[], onTaken: (() => void) | undefined): void;
  /** Stops and restarts the arrival of bytes. */
  pause(): void;
  resume(): void;
  /** Closes once everything written has left. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** The other direction: what the transport tells its connection. */
export interface Connection {
  /** Bytes arrived; the connection may keep views of them. */
  receive(bytes: Buffer): void;
  /** The peer sends no more. */
  receiveEnd(): void;
  /** Everything handed over has left: there is room. */
  onWritable(): void;
  /** The transport is gone; nothing can be sent or will arrive. */
  onClosed(): void;
  /** Sends what has gathered. */
  flush(): void;
  /** Takes no new requests, finishes those under way, then ends. */
  drain(): void;
  /**
   * Since when no request is under way and nothing unsent, on the clock of the timing wheel; Infinity while there is. A
   * request is under way from the end of its head: before that it began when its head did.
   */
  readonly idleSinceMs: number;
  /** Ends a connection without a request. */
  endIdle(): void;
}
