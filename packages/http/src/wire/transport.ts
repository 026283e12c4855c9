/** What a connection needs from the transport below it: a socket, or a list of bytes in a test. */
import type { Peer } from '../exchange.ts';
import type { ReadTarget } from './body-pool.ts';

export interface Transport {
  readonly peer: Peer;
  /** Bytes handed over that the kernel has not taken yet. */
  readonly pendingBytes: number;
  /** Bytes that the kernel has taken so far, including parts of a large piece. */
  readonly takenBytes: number;
  /**
   * Hands pieces over, in order. `onTaken`, if given, is called once the kernel has them or never will. The pieces
   * belong to the transport until then.
   */
  write(pieces: readonly Uint8Array[], onTaken: (() => void) | undefined): void;
  /** Stops and restarts the arrival of bytes. */
  pause(): void;
  resume(): void;
  /** Asks the connection at once where the next bytes are to be read to: not where it said before. */
  retarget?(): void;
  /** Closes once everything written has been sent. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** What the transport reports to its connection. */
export interface Connection {
  /** Bytes arrived; the connection may keep views of them. */
  receive(bytes: Buffer): void;
  /** Bytes arrived that are valid until this returns. A connection without this method gets a copy by `receive`. */
  receiveLent?(bytes: Buffer): void;
  /**
   * `bytes[0, count)` arrived and is valid until this returns. False: nothing was taken, and it comes by one of the methods
   * above.
   */
  receiveShared?(bytes: Buffer, count: number): boolean;
  /** Where the next bytes are to be read to; undefined: they are expected by `receive`. Asked after everything that arrives. */
  readTarget?(): ReadTarget | undefined;
  /** So many bytes were read to the target. */
  receiveInto?(target: ReadTarget, count: number): void;
  /**
   * So many bytes were read as its frames were expected: their contents are in the target, and their heads, which are valid
   * until this returns, side by side. What is not as expected is taken out of the target, which keeps none of it.
   */
  receiveFrames?(target: ReadTarget, heads: Buffer, count: number): void;
  /** The peer sends no more. */
  receiveEnd(): void;
  /** Everything handed over has been sent: there is room. */
  onWritable(): void;
  /** The transport was closed; nothing can be sent or will arrive. */
  onClosed(): void;
  /** Sends what was collected. */
  flush(): void;
  /** Takes no new requests, finishes those in progress, then closes. */
  drain(): void;
  /**
   * Since when there is no request in progress and nothing unsent, on the clock of the timing wheel; Infinity while
   * there is. A request is in progress from the end of its head; a head that is arriving counts from its first byte.
   */
  readonly idleSinceMs: number;
  /** Closes a connection without a request. */
  endIdle(): void;
}
