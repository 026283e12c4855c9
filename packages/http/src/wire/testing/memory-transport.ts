import type { Peer } from '../../exchange.ts';
import type { Transport } from '../transport.ts';

/** A transport without a socket: what a connection sends is kept, and what the kernel would take is the test's to say. */
export class MemoryTransport implements Transport {
  readonly peer: Peer = {
    address: '192.0.2.1',
    port: 4711,
    isEncrypted: false,
    owner: '192.0.2.1',
    isTrustedProxy: false,
  };
  /** While true nothing leaves: a client that does not read. */
  isStuck: boolean = false;
  isPaused: boolean = false;
  isEnded: boolean = false;
  isDestroyed: boolean = false;
  pendingBytes = 0;
  sentBytes = 0;
  #sent: Buffer[] = [];
  #onTaken: (() => void)[] = [];

  write(pieces: readonly Uint8Array[], onTaken: (() => void) | undefined): void {
    if (this.isEnded || this.isDestroyed) {
      // As a socket: what was written before the end may still be on its way.
      if (onTaken !== undefined && this.pendingBytes > 0) this.#onTaken.push(onTaken);
      else onTaken?.();
      return;
    }
    for (const piece of pieces) {
      this.sentBytes += piece.length;
      // A copy, as the kernel would take one: what is written over later must not show.
      this.#sent.push(Buffer.from(piece));
      if (this.isStuck) this.pendingBytes += piece.length;
    }
    if (onTaken === undefined) return;
    if (this.isStuck) this.#onTaken.push(onTaken);
    else onTaken();
  }

  get takenBytes(): number {
    return this.sentBytes - this.pendingBytes;
  }

  /** The client reads so much and no more. */
  takeSome(bytes: number): void {
    this.pendingBytes = Math.max(0, this.pendingBytes - bytes);
  }

  /** The client reads again: everything pending leaves. The connection's `onWritable` is the caller's to call. */
  unstick(): void {
    this.isStuck = false;
    this.pendingBytes = 0;
    const taken = this.#onTaken;
    this.#onTaken = [];
    for (const onTaken of taken) onTaken();
  }

  /** What was sent since the last call. */
  take(): Buffer {
    const sent = Buffer.concat(this.#sent);
    this.#sent = [];
    return sent;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  end(): void {
    this.isEnded = true;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.isEnded = true;
    this.unstick();
  }
}
