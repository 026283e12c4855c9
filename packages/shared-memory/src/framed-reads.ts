import { endianness } from 'node:os';
import { type SystemCalls, systemCalls } from './system-calls.ts';

/** Pieces of memory of one read; the kernel allows 1,024. */
const piecesMax = 128;
/** Numbers of 32 bits in a `struct iovec` of 64-bit systems: address and length. */
const numbersPerPiece = 4;
const twoTo32 = 2 ** 32;

/**
 * Reads a socket whose bytes come in frames, so that what is in the frames lies side by side, and the heads of the frames
 * elsewhere: the kernel puts the bytes where they are needed, and nothing has to be copied out of the frames. (Here because it
 * needs the C library.)
 */
export class FramedReads {
  readonly #calls: SystemCalls;
  readonly #vector = new Uint32Array(numbersPerPiece * piecesMax);
  #pieces = 0;

  constructor(calls: SystemCalls = systemCalls()) {
    this.#calls = calls;
  }

  /**
   * Reads what is there now, without waiting, and at most until `into` is full. After the first `firstBytes` of it, and after
   * each `nextBytes` more, `headBytes` go to `heads` instead. Returns the number of bytes, heads included; 0: none are there, or
   * the socket has ended or failed.
   */
  read(
    descriptor: number,
    into: Uint8Array,
    firstBytes: number,
    nextBytes: number,
    heads: Uint8Array,
    headBytes: number,
  ): number {
    const intoAddress = Number(this.#calls.addressOf(into));
    const headsAddress = Number(this.#calls.addressOf(heads));
    this.#pieces = 0;
    let at = Math.min(firstBytes, into.length);
    this.#add(intoAddress, at);
    for (let headAt = 0; at < into.length && headAt + headBytes <= heads.length; headAt += headBytes) {
      if (this.#pieces + 2 > piecesMax) break;
      const bytes = Math.min(nextBytes, into.length - at);
      this.#add(headsAddress + headAt, headBytes);
      this.#add(intoAddress + at, bytes);
      at += bytes;
    }
    return this.#calls.readVector(descriptor, this.#vector, this.#pieces);
  }

  #add(address: number, bytes: number): void {
    const at = this.#pieces++ * numbersPerPiece;
    this.#vector[at] = address % twoTo32;
    this.#vector[at + 1] = Math.floor(address / twoTo32);
    this.#vector[at + 2] = bytes;
    this.#vector[at + 3] = 0;
  }
}

/** Undefined where the system calls are not available, or memory is addressed otherwise. */
export function takeFramedReads(): FramedReads | undefined {
  if (endianness() !== 'LE' || (process.arch !== 'x64' && process.arch !== 'arm64')) return undefined;
  try {
    return new FramedReads();
  } catch {
    return undefined;
  }
}
