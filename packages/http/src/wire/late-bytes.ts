import type { Transport } from './transport.ts';

/** More than a client that means well has on its way when it is told that it is too late. */
export const lateBytesMax = 65536;

/**
 * What still arrives on a connection that has been given up is read over, so that the client gets to read why; but
 * only so much of it. One that goes on sending is read no more: reading what it has piled up, dozens of buffers in one
 * go, would make the others wait.
 */
export class LateBytes {
  #bytes = 0;

  skip(bytes: number, transport: Transport): void {
    this.#bytes += bytes;
    if (this.#bytes > lateBytesMax) transport.pause();
  }
}
