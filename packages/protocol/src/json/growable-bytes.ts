/** Size of the memory that a writer allocates at a time; small texts share one slab. */
const slabBytes = 64 * 1024;
const noBytes = new Uint8Array(0);

/** A buffer for text and elements of unknown length. Writers reserve first, then advance `end`. */
export class GrowableBytes {
  bytes: Uint8Array;
  /** Where the current piece begins. */
  start = 0;
  /** Where it ends so far. */
  end = 0;

  readonly #growthBytesMin: number;

  constructor(initialBytes: number = slabBytes) {
    this.#growthBytesMin = initialBytes;
    this.bytes = new Uint8Array(initialBytes);
  }

  /** Reserves this many bytes more; `bytes`, `start` and `end` may change. */
  reserve(count: number): void {
    if (this.end + count > this.bytes.length) this.#grow(count);
  }

  /** The piece written since the last call. It stays intact: later pieces are written after it or elsewhere. */
  take(): Uint8Array {
    const piece = this.bytes.subarray(this.start, this.end);
    if (this.bytes.length > this.#growthBytesMin) {
      // It was grown for one large piece: small ones after it would keep all of it alive.
      this.bytes = noBytes;
      this.end = 0;
    }
    this.start = this.end;
    return piece;
  }

  /** Drops what was written since the last `take`. */
  discard(): void {
    this.end = this.start;
  }

  #grow(count: number): void {
    const length = this.end - this.start;
    const bytes = new Uint8Array(Math.max(this.#growthBytesMin, 2 * (length + count)));
    bytes.set(this.bytes.subarray(this.start, this.end));
    this.bytes = bytes;
    this.start = 0;
    this.end = length;
  }
}
