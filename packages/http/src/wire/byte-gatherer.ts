import type { MemoryLease } from './memory.ts';

/** Size of the first buffer of a body that arrives in several pieces. */
const firstBytesMin = 64 * 1024;
/** Untouched memory costs nothing, so the buffer of a body of known length may grow by more at once. */
const growthKnown = 4;
const growthUnknown = 2;
/** A body of known length up to this gets its whole buffer with its second piece: nothing is moved later. */
const wholeBytesMax = 1024 * 1024;
/** A view keeps its whole buffer alive: it is copied unless it is at least this part of the buffer. */
const pinnedBytesMax = 16 * 1024;
const pinnedShareMin = 8;

/** Most bytes that may be copied in one turn of the event loop. */
const copiedBytesPerTurn = 4 * 1024 * 1024;

const noBytes = new Uint8Array(0);

/**
 * Joins the pieces of a body as they arrive. A single piece is kept as it is; several are copied into a buffer that
 * grows with what has arrived, so that a large announced length costs nothing, and many tiny pieces cost no more than
 * their bytes. An outgrown buffer is copied over in the following turns, so that no turn copies much at once.
 */
export class ByteGatherer {
  readonly #lengthBytes: number | undefined;
  readonly #memory: MemoryLease;
  #first: Uint8Array | undefined = undefined;
  #buffer: Buffer | undefined = undefined;
  /** The previous buffer, how many bytes it holds, and how many of those have been moved. */
  #outgrown: Buffer | undefined = undefined;
  #outgrownBytes = 0;
  #movedBytes = 0;
  bytes = 0;

  /** `lengthBytes` is the announced length, if any. */
  constructor(lengthBytes: number | undefined, memory: MemoryLease) {
    this.#lengthBytes = lengthBytes;
    this.#memory = memory;
  }

  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    if (this.bytes === 0) {
      this.#first = piece;
      this.bytes = piece.length;
      return;
    }
    const buffer = this.#bufferFor(piece.length);
    buffer.set(piece, this.bytes);
    this.bytes += piece.length;
  }

  /** Moves some of what is left in the previous buffer; true when the whole body is in one buffer. */
  settle(): boolean {
    if (this.#outgrown !== undefined) this.#move(copiedBytesPerTurn);
    return this.#outgrown === undefined;
  }

  /** The whole body. Call it once `settle` has returned true. */
  take(): Uint8Array {
    const whole = this.#buffer === undefined ? unpinned(this.#first ?? noBytes) : this.#buffer.subarray(0, this.bytes);
    this.clear();
    return whole;
  }

  clear(): void {
    if (this.#outgrown !== undefined) this.#memory.give(this.#outgrown.length);
    this.#outgrown = undefined;
    this.#buffer = undefined;
    this.#first = undefined;
    this.bytes = 0;
  }

  #bufferFor(moreBytes: number): Buffer {
    const buffer = this.#buffer;
    const needed = this.bytes + moreBytes;
    if (buffer !== undefined && needed <= buffer.length) return buffer;
    const grown = Buffer.allocUnsafeSlow(this.#capacityFor(needed));
    if (buffer === undefined) {
      grown.set(this.#first as Uint8Array, 0);
      this.#first = undefined;
    } else {
      while (!this.settle());
      this.#outgrown = buffer;
      this.#outgrownBytes = this.bytes;
      this.#movedBytes = 0;
      this.#memory.count(buffer.length);
    }
    this.#buffer = grown;
    this.#settleSoon();
    return grown;
  }

  /** The last buffer but one holds at most half of a known length, so that little is left to move at the end. */
  #capacityFor(needed: number): number {
    const length = this.#lengthBytes;
    if (length === undefined) return Math.max(firstBytesMin, this.bytes * growthUnknown, needed);
    if (length <= wholeBytesMax) return Math.max(length, needed);
    const wanted = Math.max(firstBytesMin, this.bytes * growthKnown, needed);
    return wanted * 2 > length ? Math.max(length, needed) : wanted;
  }

  /** Continues by itself: a client that pauses must not keep two buffers alive. */
  #settleSoon(): void {
    if (!this.settle()) setImmediate(() => this.#settleSoon());
  }

  #move(bytesMax: number): void {
    const outgrown = this.#outgrown as Buffer;
    const end = Math.min(this.#outgrownBytes, this.#movedBytes + bytesMax);
    outgrown.copy(this.#buffer as Buffer, this.#movedBytes, this.#movedBytes, end);
    this.#movedBytes = end;
    if (end < this.#outgrownBytes) return;
    this.#outgrown = undefined;
    this.#memory.give(outgrown.length);
  }
}

/** The bytes, copied if they would keep a much larger buffer alive. */
export function unpinned<Bytes extends Uint8Array>(piece: Bytes): Bytes | Buffer {
  const pinned = piece.buffer.byteLength;
  if (pinned <= pinnedBytesMax || piece.length * pinnedShareMin >= pinned) return piece;
  const copy = Buffer.allocUnsafeSlow(piece.length);
  copy.set(piece);
  return copy;
}
