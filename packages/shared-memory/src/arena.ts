import { FreeList } from './free-list.ts';

/** A part of an arena, lent until it is released. */
export interface ArenaRegion {
  readonly bytes: Uint8Array;
  /** From the arena's first byte: how the other process finds it. */
  readonly offset: number;
  release(): void;
}

/**
 * The owner's side of a range of memory: lends parts of it, of a total that never grows. The process on the other side
 * only reads what it is told of, and says when it has.
 */
export class Arena {
  readonly #bytes: Uint8Array;
  readonly #free: FreeList;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#free = new FreeList(bytes.length);
  }

  /** Memory of exactly so many bytes, holding whatever was there before; undefined when there is no room. */
  takeRegion(bytes: number): ArenaRegion | undefined {
    const offset = this.#free.take(bytes);
    if (offset === undefined) return undefined;
    return new LentRegion(this.#free, offset, this.#bytes.subarray(offset, offset + bytes));
  }

  /** Where a region lies, or undefined when it is not one of this arena's. */
  offsetOf(region: object): number | undefined {
    return region instanceof LentRegion && region.isOf(this.#free) ? region.offset : undefined;
  }

  /** For the owner who heard from the other process that it is done with the region at this offset. */
  releaseAt(offset: number): void {
    this.#free.release(offset);
  }

  get lentRegions(): number {
    return this.#free.lentBlocks;
  }

  get lentBytes(): number {
    return this.#free.lentBytes;
  }
}

class LentRegion implements ArenaRegion {
  readonly #free: FreeList;
  readonly offset: number;
  readonly bytes: Uint8Array;

  constructor(free: FreeList, offset: number, bytes: Uint8Array) {
    this.#free = free;
    this.offset = offset;
    this.bytes = bytes;
  }

  isOf(free: FreeList): boolean {
    return this.#free === free;
  }

  release(): void {
    this.#free.release(this.offset);
  }
}
