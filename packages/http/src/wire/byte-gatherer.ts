import assert from 'node:assert/strict';
import type { BodyPlacement } from '../exchange.ts';
import type { MoveAway } from './arriving-bodies.ts';
import { type LentBody, lentBytesMin, type ReadTarget } from './body-pool.ts';
import { copyTurns } from './copy-turns.ts';
import type { MemoryLease } from './memory.ts';

/** Size of the first buffer of a body that arrives in several pieces. */
const firstBytesMin = 64 * 1024;
/** Untouched memory costs nothing, so the buffer of a body of known length may grow by more at once. */
const growthKnown = 4;
const growthUnknown = 2;
/** A body of known length up to this gets its whole buffer with its second piece: nothing is moved later. */
const wholeBytesMax = 1024 * 1024;
/** Lent memory has been touched before and is counted as a whole: a body gets it for what arrived, not for what it announced. */
const lentPerArrivedMax = 16;
/** A placed body may be lent more: its first frame is enough for a megabyte, as it is moved away if the rest takes long. */
const placedPerArrivedMax = 64;
/** What has arrived is moved when a body is placed: so much at most. */
const movedToPlacementBytesMax = 256 * 1024;
/** A view keeps its whole buffer alive: it is copied unless it is at least this part of the buffer. */
const pinnedBytesMax = 16 * 1024;
const pinnedShareMin = 8;

/** For fewer bytes a read of their own costs more than their copy. */
export const targetBytesMin: number = 16 * 1024;
/** The kernel copies what it has in one go: other connections wait meanwhile. */
const targetBytesMax = 1024 * 1024;

const noBytes = new Uint8Array(0);

/** Lends memory for a body, and counts it until it is released. */
export interface BodyLender {
  /** `filledBytes` of it have arrived. Undefined: there is none of that size, or no room. */
  lendBody(bytes: number, filledBytes: number): LentBody | undefined;
  /** The same for a placed body: `moveAway` is called if it takes too long to arrive. */
  lendPlaced(placement: BodyPlacement, bytes: number, filledBytes: number, moveAway: MoveAway): LentBody | undefined;
  /** What is left of the body is gathered elsewhere than its placement: a socket must not read into that any more. */
  onBodyMoved(): void;
}

/** A whole body, and the memory it is in where that was lent. */
interface GatheredBody {
  /** All of it, or what comes before the tail. */
  readonly bytes: Uint8Array;
  readonly lent: LentBody | undefined;
  /** Of a placed body, what lies where it was placed. */
  readonly tail: Uint8Array | undefined;
}

/** A body that has a placement and is gathered there. */
interface PlacedBody {
  readonly head: Buffer;
  readonly lent: LentBody;
}

/**
 * Joins the pieces of a body as they arrive. A single piece is kept as it is; several are copied into a buffer that
 * grows with what has arrived, so that a large announced length costs nothing, and many tiny pieces cost no more than
 * their bytes. An outgrown buffer is copied over in the following turns, which all bodies share (`copy-turns.ts`).
 *
 * Its owner counts each piece as held when it arrives. Lent memory is counted by its lender, so that pieces in it are
 * given back.
 */
export class ByteGatherer {
  readonly #lengthBytes: number | undefined;
  readonly #memory: MemoryLease;
  readonly #lender: BodyLender | undefined;
  #first: Uint8Array | undefined = undefined;
  #buffer: Buffer | undefined = undefined;
  /** The buffer, if it is lent. */
  #lent: LentBody | undefined = undefined;
  /** The previous buffer, how many bytes it holds, and how many of those have been moved. */
  #outgrown: Buffer | undefined = undefined;
  #outgrownLent: LentBody | undefined = undefined;
  #outgrownBytes = 0;
  #movedBytes = 0;
  /** Where the body may be placed; undefined: nowhere, or nowhere any more. */
  #placement: BodyPlacement | undefined;
  #placed: PlacedBody | undefined = undefined;
  bytes = 0;

  /** `lengthBytes` is the announced length, if any. With a lender, the body is taken by `takeGathered`. */
  constructor(
    lengthBytes: number | undefined,
    memory: MemoryLease,
    lender?: BodyLender,
    placement?: BodyPlacement | undefined,
  ) {
    this.#lengthBytes = lengthBytes;
    this.#memory = memory;
    this.#lender = lender;
    this.#placement = placement;
  }

  /** The piece stays valid. */
  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    if (this.bytes > 0) this.#append(piece);
    else {
      this.#first = piece;
      this.bytes = piece.length;
    }
  }

  /** The piece is valid until this returns. */
  pushLent(piece: Uint8Array): void {
    if (piece.length > 0) this.#append(piece);
  }

  /** Where at most `bytesMax` of the next bytes may be written; undefined: nowhere. `skipWritten` says how many were. */
  readTarget(bytesMax: number): ReadTarget | undefined {
    const placed = this.#placed;
    const lent = placed?.lent ?? this.#lent;
    if (lent === undefined) return undefined;
    const begin = placed === undefined ? this.bytes : this.bytes - placed.head.length;
    const end = Math.min(lent.bytes.length, begin + Math.min(bytesMax, targetBytesMax));
    return end - begin < targetBytesMin ? undefined : { bytes: lent.bytes.subarray(begin, end), lent };
  }

  /** Where in this memory the next bytes go; -1: the body is not gathered there. */
  offsetIn(lent: LentBody): number {
    if (this.#placed?.lent === lent) return this.bytes - this.#placed.head.length;
    return this.#lent === lent ? this.bytes : -1;
  }

  /** So many bytes were written to the target. Their memory is counted already. */
  skipWritten(bytes: number): void {
    this.bytes += bytes;
  }

  #append(piece: Uint8Array): void {
    const placed = this.#placed ?? (this.#placement && this.#takePlaced(this.#placement, piece.length));
    if (placed !== undefined) {
      this.#appendPlaced(placed, piece);
      return;
    }
    const buffer = this.#bufferFor(piece.length);
    buffer.set(piece, this.bytes);
    this.bytes += piece.length;
    if (this.#lent !== undefined) this.#memory.give(piece.length);
  }

  /** Moves what may be moved in this turn of the previous buffer; true when the whole body is in one buffer. */
  settle(): boolean {
    if (this.#outgrown !== undefined) this.#move(copyTurns.take(this.#outgrownBytes - this.#movedBytes));
    return this.#outgrown === undefined;
  }

  /** Moves all that is left, for those who cannot wait for a turn. */
  settleNow(): void {
    if (this.#outgrown !== undefined) this.#move(this.#outgrownBytes - this.#movedBytes);
  }

  /** The whole body. Call it once `settle` has returned true, or after `settleNow`. */
  take(): Uint8Array {
    const { bytes, lent } = this.takeGathered();
    assert(lent === undefined, 'a body in lent memory was taken without its lender');
    return bytes;
  }

  /** The whole body with the memory that was lent for it, which belongs to the caller from now on. */
  takeGathered(): GatheredBody {
    const placed = this.#placed;
    if (placed !== undefined) {
      const tail = placed.lent.bytes.subarray(0, this.bytes - placed.head.length);
      this.#placed = undefined;
      this.clear();
      return { bytes: placed.head, lent: placed.lent, tail };
    }
    const bytes = this.#buffer === undefined ? unpinned(this.#first ?? noBytes) : this.#buffer.subarray(0, this.bytes);
    const lent = this.#lent;
    this.#lent = undefined;
    this.clear();
    return { bytes, lent, tail: undefined };
  }

  clear(): void {
    this.#dropOutgrown();
    this.#lent?.release();
    this.#placed?.lent.release();
    this.#dropBuffer();
    this.#placed = undefined;
    this.#placement = undefined;
    this.bytes = 0;
  }

  #dropBuffer(): void {
    this.#lent = undefined;
    this.#buffer = undefined;
    this.#first = undefined;
  }

  /** Places the body once enough of it has arrived: all of its head, and a part of what it announces. */
  #takePlaced(placement: BodyPlacement, moreBytes: number): PlacedBody | undefined {
    const length = this.#lengthBytes;
    const needed = this.bytes + moreBytes;
    const { headBytes } = placement;
    if (length === undefined || this.bytes > movedToPlacementBytesMax) {
      this.#placement = undefined;
      return undefined;
    }
    if (needed < headBytes || needed * placedPerArrivedMax < length) return undefined;
    this.#placement = undefined;
    const moveAway = (): number => this.#moveAway();
    const lent = this.#lender?.lendPlaced(placement, length - headBytes, needed - headBytes, moveAway);
    if (lent === undefined) return undefined;
    this.settleNow();
    const arrived = this.#first ?? this.#buffer?.subarray(0, this.bytes) ?? noBytes;
    const head = Buffer.allocUnsafe(headBytes);
    head.set(arrived.subarray(0, headBytes), 0);
    lent.bytes.set(arrived.subarray(headBytes), 0);
    const headArrived = Math.min(headBytes, this.bytes);
    // The head stays counted by itself, as if it had just arrived.
    if (this.#lent !== undefined) this.#memory.count(headArrived);
    else this.#memory.give(this.bytes - headArrived);
    this.#lent?.release();
    this.#dropBuffer();
    this.#placed = { head, lent };
    return this.#placed;
  }

  #appendPlaced({ head, lent }: PlacedBody, piece: Uint8Array): void {
    const ofHead = Math.min(piece.length, Math.max(0, head.length - this.bytes));
    if (ofHead > 0) head.set(piece.subarray(0, ofHead), this.bytes);
    lent.bytes.set(ofHead === 0 ? piece : piece.subarray(ofHead), this.bytes + ofHead - head.length);
    this.bytes += piece.length;
    this.#memory.give(piece.length - ofHead);
  }

  /** The body arrives too slowly to hold memory that others need: it is gathered like any other. */
  #moveAway(): number {
    const placed = this.#placed;
    const lender = this.#lender;
    if (placed === undefined || lender === undefined) {
      // Nobody gathers it any more, but a socket may still hold its memory for what is left of it.
      lender?.onBodyMoved();
      return 0;
    }
    const { head, lent } = placed;
    const length = head.length + lent.bytes.length;
    const arrived = lent.bytes.subarray(0, this.bytes - head.length);
    this.#placed = undefined;
    this.#lent = lender.lendBody(length, this.bytes);
    this.#buffer = this.#lent?.bytes ?? Buffer.allocUnsafeSlow(length);
    this.#buffer.set(head, 0);
    this.#buffer.set(arrived, head.length);
    if (this.#lent === undefined) this.#memory.count(arrived.length);
    else this.#memory.give(head.length);
    lent.release();
    lender.onBodyMoved();
    return this.bytes;
  }

  #bufferFor(moreBytes: number): Buffer {
    const buffer = this.#buffer;
    const needed = this.bytes + moreBytes;
    if (buffer !== undefined && needed <= buffer.length) return buffer;
    const capacity = this.#capacityFor(needed);
    const lent = capacity < lentBytesMin ? undefined : this.#lender?.lendBody(capacity, needed);
    const grown = lent?.bytes ?? Buffer.allocUnsafeSlow(capacity);
    const wasLent = this.#lent !== undefined;
    if (buffer === undefined) {
      if (this.#first !== undefined) grown.set(this.#first, 0);
      this.#first = undefined;
    } else {
      this.settleNow();
      this.#outgrown = buffer;
      this.#outgrownLent = this.#lent;
      this.#outgrownBytes = this.bytes;
      this.#movedBytes = 0;
      if (!wasLent) this.#memory.count(buffer.length);
    }
    // What has arrived is counted once: by itself, or with the lent memory that it is in.
    if (lent !== undefined && !wasLent) this.#memory.give(this.bytes);
    else if (lent === undefined && wasLent) this.#memory.count(this.bytes);
    this.#lent = lent;
    this.#buffer = grown;
    this.#settleSoon();
    return grown;
  }

  /** The last buffer but one holds at most half of a known length, so that little is left to move at the end. */
  #capacityFor(needed: number): number {
    const length = this.#lengthBytes;
    if (length === undefined) return Math.max(firstBytesMin, this.bytes * growthUnknown, needed);
    if (length <= wholeBytesMax) {
      if (this.#lender !== undefined && needed * lentPerArrivedMax < length) return Math.max(firstBytesMin, needed);
      return Math.max(length, needed);
    }
    const wanted = Math.max(firstBytesMin, this.bytes * growthKnown, needed);
    return wanted * 2 > length ? Math.max(length, needed) : wanted;
  }

  /** Continues by itself: a client that pauses must not keep two buffers alive. */
  #settleSoon(): void {
    if (!this.settle()) setImmediate(() => this.#settleSoon());
  }

  #move(bytes: number): void {
    const outgrown = this.#outgrown as Buffer;
    const end = this.#movedBytes + bytes;
    outgrown.copy(this.#buffer as Buffer, this.#movedBytes, this.#movedBytes, end);
    this.#movedBytes = end;
    if (end === this.#outgrownBytes) this.#dropOutgrown();
  }

  #dropOutgrown(): void {
    if (this.#outgrownLent !== undefined) this.#outgrownLent.release();
    else if (this.#outgrown !== undefined) this.#memory.give(this.#outgrown.length);
    this.#outgrown = undefined;
    this.#outgrownLent = undefined;
  }
}

/** The bytes, copied if they would keep a much larger buffer alive. */
export function unpinned<Bytes extends Uint8Array>(piece: Bytes): Bytes | Buffer {
  const pinned = piece.buffer.byteLength;
  if (pinned <= pinnedBytesMax || piece.length * pinnedShareMin >= pinned) return piece;
  return ownCopyOf(piece);
}

/** A copy in memory of its own. */
function ownCopyOf(piece: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(piece.length);
  copy.set(piece);
  return copy;
}

/** A copy of bytes that are only lent. Small ones share memory with others. */
export function keptCopyOf(piece: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafe(piece.length);
  copy.set(piece);
  return copy;
}
