import { FreeList } from './free-list.ts';
import type { Mapping } from './mapping.ts';
import { UnusedPages } from './unused-pages.ts';

/** How often memory that is not needed is looked for. */
const giveBackMs = 5000;

/** A part of an arena, lent until it is released. */
export interface ArenaRegion {
  readonly bytes: Uint8Array;
  /** Offset from the arena's first byte, by which the other process finds it. */
  readonly offset: number;
  release(): void;
}

/**
 * The owner's side of a range of memory: lends parts of it, of a total that never grows. The process on the other side
 * only reads the regions it is told of, and reports when it has.
 */
export class Arena {
  readonly #bytes: Uint8Array;
  readonly #free: FreeList;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#free = new FreeList(bytes.length);
  }

  /**
   * From now on the system gets pages back that were not needed for half a minute; the arena begins at `offset` of the mapping. Returns what
   * ends it, to be called before the mapping is given back. Nothing is given back where the system takes nothing.
   */
  giveBackUnused(mapping: Pick<Mapping, 'discard' | 'pageBytes'>, offset: number): () => void {
    const stop = (): void => clearInterval(timer);
    const pages = new UnusedPages((from, bytes) => {
      if (!mapping.discard(offset + from, bytes)) stop();
    }, mapping.pageBytes);
    const timer = setInterval(() => pages.check(this.#free.restartPeak()), giveBackMs);
    timer.unref();
    return stop;
  }

  /** Memory of exactly this many bytes, with arbitrary content; undefined when there is no room. */
  takeRegion(bytes: number): ArenaRegion | undefined {
    const offset = this.#free.take(bytes);
    if (offset === undefined) return undefined;
    return new LentRegion(this.#free, offset, this.#bytes.subarray(offset, offset + bytes));
  }

  /** The offset of a region, or undefined when it does not belong to this arena. */
  offsetOf(region: object): number | undefined {
    return region instanceof LentRegion && region.isOf(this.#free) ? region.offset : undefined;
  }

  /** For the owner, when the other process has reported that it has finished with the region at this offset. */
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
