import assert from 'node:assert';

/** Every block begins on a cache line, which is also enough alignment for any tensor element. */
export const blockAlignmentBytes = 64;

/**
 * Allocates ranges of a fixed space: first fit, low addresses first, so that a lightly used space stays in few pages.
 * Neighbouring free ranges are joined on release, so that released memory can be allocated again as a whole.
 */
export class FreeList {
  readonly #offsets: number[];
  readonly #sizes: number[];
  readonly #lent = new Map<number, number>();
  #lentBytes = 0;
  /** The highest end of a range that was lent since the last call of `restartPeak`. */
  #peakBytes = 0;
  readonly #usableBytes: number;

  constructor(bytes: number) {
    assert(
      Number.isSafeInteger(bytes) && bytes >= 0,
      `the size of a space must be a whole number of bytes from 0, not ${bytes}`,
    );
    const usable = bytes - (bytes % blockAlignmentBytes);
    this.#usableBytes = usable;
    this.#offsets = usable === 0 ? [] : [0];
    this.#sizes = usable === 0 ? [] : [usable];
  }

  get lentBlocks(): number {
    return this.#lent.size;
  }

  /** Includes the rounding to whole blocks. */
  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** The offset of a range of this many bytes, or undefined when no free range is long enough. */
  take(bytes: number): number | undefined {
    const size = Math.max(1, Math.ceil(bytes / blockAlignmentBytes)) * blockAlignmentBytes;
    for (let index = 0; index < this.#sizes.length; index++) {
      const free = this.#sizes[index] as number;
      if (free < size) continue;
      const offset = this.#offsets[index] as number;
      if (free === size) {
        this.#offsets.splice(index, 1);
        this.#sizes.splice(index, 1);
      } else {
        this.#offsets[index] = offset + size;
        this.#sizes[index] = free - size;
      }
      this.#lent.set(offset, size);
      this.#lentBytes += size;
      if (offset + size > this.#peakBytes) this.#peakBytes = offset + size;
      return offset;
    }
    return undefined;
  }

  /** Behind this offset nothing was lent since the last call. */
  restartPeak(): number {
    const peak = this.#peakBytes;
    const last = this.#offsets.length - 1;
    const isLastFree =
      last >= 0 && (this.#offsets[last] as number) + (this.#sizes[last] as number) === this.#usableBytes;
    this.#peakBytes = isLastFree ? (this.#offsets[last] as number) : this.#usableBytes;
    return peak;
  }

  release(offset: number): void {
    const size = this.#lent.get(offset);
    assert(
      size !== undefined,
      `no block at offset ${offset} is allocated: it was released before, or never allocated here`,
    );
    this.#lent.delete(offset);
    this.#lentBytes -= size;
    this.#insert(offset, size);
  }

  #insert(offset: number, size: number): void {
    let low = 0;
    let high = this.#offsets.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#offsets[middle] as number) < offset) low = middle + 1;
      else high = middle;
    }
    const joinsBefore = low > 0 && (this.#offsets[low - 1] as number) + (this.#sizes[low - 1] as number) === offset;
    const joinsAfter = low < this.#offsets.length && offset + size === this.#offsets[low];
    if (joinsBefore && joinsAfter) {
      this.#sizes[low - 1] = (this.#sizes[low - 1] as number) + size + (this.#sizes[low] as number);
      this.#offsets.splice(low, 1);
      this.#sizes.splice(low, 1);
    } else if (joinsBefore) {
      this.#sizes[low - 1] = (this.#sizes[low - 1] as number) + size;
    } else if (joinsAfter) {
      this.#offsets[low] = offset;
      this.#sizes[low] = (this.#sizes[low] as number) + size;
    } else {
      this.#offsets.splice(low, 0, offset);
      this.#sizes.splice(low, 0, size);
    }
  }
}
