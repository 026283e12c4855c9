/**
 * Memory for large bodies that is used again. New memory for each body is memory outside of V8's heap, for which V8
 * collects garbage every few dozen requests.
 */
import assert from 'node:assert/strict';
import { ArrivingBodies } from './arriving-bodies.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Smaller bodies are not worth a place in the pool. */
export const lentBytesMin: number = 64 * kibibyte;
/** Larger bodies are rare, and each would keep much memory for the next one. */
const lentBytesMax = 16 * mebibyte;
/** Sizes between two powers of two: at most a fifth of a buffer is unused. */
const sizesPerDoubling = 4;
const freeBytesMaxDefault = 64 * mebibyte;
/** Memory that was not needed for this long is given back, all of it after twice the time. */
const trimMs = 5_000;
/** Fills free memory in a pool that is poisoned. */
export const poisonByte = 0xdb;

export interface BodyPoolOptions {
  /** Most bytes of free memory that are kept for later bodies. Default 64 MiB; 0: none. */
  readonly freeBytesMax?: number | undefined;
  /** Overwrites memory when it is given back, and checks that nobody wrote to it when it is lent again: for tests. */
  readonly isPoisoned?: boolean | undefined;
  /** If left out, bodies are copied out of the frames they come in. */
  readonly framedReads?: FramedSocketReads | undefined;
  /** Calls back once after a time, without keeping the process alive. */
  readonly after?: ((ms: number, callback: () => void) => void) | undefined;
}

/**
 * Memory that belongs to one body until everyone who holds it has released it: the reader of the body, and a socket that
 * reads into it. Memory that is never released is collected as garbage, but counts as held by its request.
 */
export class LentBody {
  readonly bytes: Buffer;
  readonly #onReleased: () => void;
  #holders = 1;

  /** `onReleased` is called once, when nobody reads or writes the bytes any more. */
  constructor(bytes: Buffer, onReleased: () => void) {
    this.bytes = bytes;
    this.#onReleased = onReleased;
  }

  /** It has one holder more, who has to release it. */
  hold(): void {
    assert(this.#holders > 0, 'the memory of a body was held after its release');
    this.#holders++;
  }

  /** To be called once by every holder. */
  release(): void {
    assert(this.#holders > 0, 'the memory of a body was released twice');
    this.#holders--;
    if (this.#holders === 0) this.#onReleased();
  }
}

/** The part of a body's memory that the next bytes from a socket go to. */
export interface ReadTarget {
  readonly bytes: Buffer;
  readonly lent: LentBody;
  /** The bytes come in frames: if these are as expected, all of them can be read at once. Undefined: nothing lies between them. */
  readonly frames?: ExpectedFrames | undefined;
}

/** How long frames are expected to be: that of which the next bytes are, from these on, and those behind it, without their heads. */
export interface ExpectedFrames {
  readonly firstBytes: number;
  readonly nextBytes: number;
  /** Of the head of each frame. */
  readonly headBytes: number;
}

/** Reads a socket so that the contents of frames lie side by side, and their heads elsewhere. */
export interface FramedSocketReads {
  /**
   * Reads what is there now, at most until `into` is full. After the first `firstBytes` of it, and after each `nextBytes` more,
   * `headBytes` go to `heads` instead. Returns the number of bytes, heads included; 0: none are there, or the socket has ended.
   */
  read(
    descriptor: number,
    into: Uint8Array,
    firstBytes: number,
    nextBytes: number,
    heads: Uint8Array,
    headBytes: number,
  ): number;
}

/** Free buffers of one size. */
interface SizeClass {
  readonly free: Buffer[];
  /** The least there were since the last trim: so many were not needed. */
  leastFree: number;
}

export class BodyPool {
  readonly isPoisoned: boolean;
  readonly framedReads: FramedSocketReads | undefined;
  /** Bodies that arrive in memory of somebody else. */
  readonly arriving: ArrivingBodies;
  /** Bytes of such memory that bodies have now. */
  placedBytes = 0;
  readonly #freeBytesMax: number;
  readonly #after: (ms: number, callback: () => void) => void;
  readonly #classes = new Map<number, SizeClass>();
  readonly #trim = (): void => this.#trimAll();
  #isTrimDue: boolean = false;
  #freeBytes = 0;
  #lentBytes = 0;

  constructor(options: BodyPoolOptions = {}) {
    const { freeBytesMax, isPoisoned = false, framedReads, after = laterUnreferenced } = options;
    this.framedReads = framedReads;
    this.#freeBytesMax = freeBytesMax ?? freeBytesMaxDefault;
    this.isPoisoned = isPoisoned;
    this.#after = after;
    this.arriving = new ArrivingBodies(after);
  }

  /** Bytes that are kept for later bodies. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Bytes that bodies have now. */
  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** The size of the buffer that a body of this size gets; undefined: it gets none. */
  capacityFor(bytes: number): number | undefined {
    if (bytes > lentBytesMax) return undefined;
    if (bytes <= lentBytesMin) return lentBytesMin;
    const step = 2 ** (31 - Math.clz32(bytes - 1)) / sizesPerDoubling;
    return Math.ceil(bytes / step) * step;
  }

  /** A buffer of a size that `capacityFor` returned. Its content is undefined. */
  take(capacity: number): Buffer {
    this.#lentBytes += capacity;
    const size = this.#classes.get(capacity);
    const buffer = size?.free.pop();
    if (size === undefined || buffer === undefined) return Buffer.allocUnsafeSlow(capacity);
    size.leastFree = Math.min(size.leastFree, size.free.length);
    this.#freeBytes -= capacity;
    if (this.isPoisoned) assert(isPoison(buffer), 'memory of a body was written to after its release');
    return buffer;
  }

  giveBack(buffer: Buffer): void {
    this.#lentBytes -= buffer.length;
    if (this.isPoisoned) buffer.fill(poisonByte);
    if (this.#freeBytes + buffer.length > this.#freeBytesMax) return;
    let size = this.#classes.get(buffer.length);
    if (size === undefined) {
      size = { free: [], leastFree: 0 };
      this.#classes.set(buffer.length, size);
    }
    size.free.push(buffer);
    this.#freeBytes += buffer.length;
    this.#trimSoon();
  }

  #trimSoon(): void {
    if (this.#isTrimDue) return;
    this.#isTrimDue = true;
    this.#after(trimMs, this.#trim);
  }

  #trimAll(): void {
    this.#isTrimDue = false;
    for (const [capacity, size] of this.#classes) {
      size.free.splice(0, size.leastFree);
      this.#freeBytes -= size.leastFree * capacity;
      size.leastFree = size.free.length;
    }
    if (this.#freeBytes > 0) this.#trimSoon();
  }
}

/** Only a poisoned pool needs it. */
let poison: Buffer | undefined;

function isPoison(buffer: Buffer): boolean {
  poison ??= Buffer.alloc(lentBytesMin, poisonByte);
  for (let at = 0; at < buffer.length; at += poison.length) {
    const end = Math.min(at + poison.length, buffer.length);
    if (poison.compare(buffer, at, end, 0, end - at) !== 0) return false;
  }
  return true;
}

function laterUnreferenced(ms: number, callback: () => void): void {
  setTimeout(callback, ms).unref();
}
