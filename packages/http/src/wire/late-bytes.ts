import type { Transport } from './transport.ts';

/** More than a well-behaved client has in transit when the connection is closed. */
export const lateBytesMax = 65536;

/**
 * Caps the bytes discarded after a connection was closed on this side. They are discarded so that the client can read
 * the reason; but a client that goes on sending is no longer read: reading what it has piled up, dozens of buffers in
 * one go, would delay the others.
 */
export class LateBytes {
  #bytes = 0;

  skip(bytes: number, transport: Transport): void {
    this.#bytes += bytes;
    if (this.#bytes > lateBytesMax) transport.pause();
  }
}
