/**
 * Collects a head, or trailers, up to the empty line that ends it; each byte is scanned once however chunks are cut.
 */
const carriageReturn = 13;
const lineFeed = 10;

export type LineResult = 'more' | 'complete' | 'bare-line-feed' | 'too-large';

export class LineBuffer {
  /** When complete: the lines are `bytes[start, linesEnd)`, and `end` is behind the empty line. */
  bytes: Buffer = noBytes;
  start = 0;
  linesEnd = 0;
  end = 0;
  /** How many whole lines there are. */
  lines = 0;
  #used = 0;
  #scanned = 0;
  #lineStart = 0;
  /** Whether `bytes` is this buffer's own memory, and not the chunk that a head arrived in. */
  #isOwn: boolean = false;

  get isEmpty(): boolean {
    return this.#used === this.start;
  }

  /** Adds `chunk` from `from` on. When complete, the bytes behind `end` have not been scanned. */
  add(chunk: Buffer, from: number, bytesMax: number): LineResult {
    if (this.#isOwn) this.#append(chunk, from);
    else {
      this.bytes = chunk;
      this.start = from;
      this.#scanned = from;
      this.#lineStart = from;
      this.#used = chunk.length;
      this.lines = 0;
    }
    const result = this.#scan(bytesMax);
    // An incomplete head is copied once: the chunk may be large, and the rest of the head is in another.
    if (result === 'more' && !this.#isOwn) this.#own();
    return result;
  }

  reset(): void {
    this.bytes = noBytes;
    this.start = 0;
    this.#used = 0;
    this.#scanned = 0;
    this.#lineStart = 0;
    this.lines = 0;
    this.#isOwn = false;
  }

  #scan(bytesMax: number): LineResult {
    const bytes = this.bytes;
    for (let at = this.#nextLineFeed(); at >= 0; at = this.#nextLineFeed()) {
      if (at - this.start > bytesMax) return 'too-large';
      if (at === this.start || bytes[at - 1] !== carriageReturn) return 'bare-line-feed';
      this.#scanned = at + 1;
      if (at - 1 === this.#lineStart) {
        this.linesEnd = this.#lineStart;
        this.end = at + 1;
        return 'complete';
      }
      this.lines++;
      this.#lineStart = at + 1;
    }
    this.#scanned = this.#used;
    return this.#used - this.start > bytesMax ? 'too-large' : 'more';
  }

  #nextLineFeed(): number {
    const at = this.bytes.indexOf(lineFeed, this.#scanned);
    return at < this.#used ? at : -1;
  }

  #own(): void {
    const length = this.#used - this.start;
    const own = Buffer.allocUnsafe(Math.max(256, length * 2));
    this.bytes.copy(own, 0, this.start, this.#used);
    this.bytes = own;
    this.#scanned -= this.start;
    this.#lineStart -= this.start;
    this.#used = length;
    this.start = 0;
    this.#isOwn = true;
  }

  #append(chunk: Buffer, from: number): void {
    const needed = this.#used + chunk.length - from;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafe(needed * 2);
      this.bytes.copy(grown, 0, 0, this.#used);
      this.bytes = grown;
    }
    chunk.copy(this.bytes, this.#used, from);
    this.#used = needed;
  }

  /** The bytes that followed the end. */
  rest(): Buffer {
    return this.bytes.subarray(this.end, this.#used);
  }
}

const noBytes = Buffer.alloc(0);
