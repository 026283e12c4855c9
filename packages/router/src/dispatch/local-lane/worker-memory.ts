import assert from 'node:assert';
import { HeapRegion, type Region } from '@millrace/protocol';
import { Arena, heapBytes, inFrameBytesMax, type Mapping, type MappingPool } from '@millrace/shared-memory';

const pageBytes = 4096;

/**
 * The router's side of the memory it shares with one worker: it lends from the first half, where the worker reads, and
 * hears of places in the second half, where the worker writes. Used only once the worker said that it has mapped it.
 */
export class WorkerMemory {
  /** Of each half. */
  readonly bytes: number;
  readonly #mapping: Mapping | undefined;
  readonly #inputs: Arena | undefined;
  readonly #pool: MappingPool;
  readonly #onOutputReleased: (offset: number) => void;
  #isShared: boolean = false;
  #isClosed: boolean = false;
  #outputsHeld = 0;
  #isGivenBack: boolean = false;

  /** `onOutputReleased` hears the place of each output that the router is done with. */
  constructor(
    pool: MappingPool,
    bytesMax: number,
    onOutputReleased: (offset: number) => void,
    onUnavailable: (reason: string) => void,
  ) {
    this.#pool = pool;
    const half = Math.floor(bytesMax / 2 / pageBytes) * pageBytes;
    this.#mapping = half === 0 ? undefined : pool.take(2 * half, onUnavailable);
    this.bytes = this.#mapping === undefined ? 0 : half;
    this.#inputs = this.#mapping && new Arena(this.#mapping.bytes.subarray(0, half));
    this.#onOutputReleased = onOutputReleased;
  }

  /** To be inherited by the worker; undefined when there is no memory to share. */
  get descriptor(): number | undefined {
    return this.#mapping?.descriptor;
  }

  /** The worker has mapped it. */
  share(): void {
    this.#isShared = true;
  }

  /** Shared memory for what is worth it, as long as there is room; ordinary memory otherwise. */
  lend(bytes: number): Region {
    const isWorthwhile = this.#isShared && !this.#isClosed && bytes > inFrameBytesMax;
    const shared = isWorthwhile ? this.#inputs?.takeRegion(bytes) : undefined;
    return shared ?? new HeapRegion(heapBytes(bytes));
  }

  /** Where an input lies in shared memory; undefined when it does not. */
  offsetOf(region: Region): number | undefined {
    return this.#inputs?.offsetOf(region);
  }

  /** An output that the worker wrote; undefined when there is no such place. */
  takeOutput(offset: number, bytes: number): Region | undefined {
    if (!this.#isShared || this.#mapping === undefined || offset + bytes > this.bytes) return undefined;
    const start = this.bytes + offset;
    this.#outputsHeld++;
    let isReleased = false;
    return {
      bytes: this.#mapping.bytes.subarray(start, start + bytes),
      release: () => {
        assert(!isReleased, 'an output was released twice');
        isReleased = true;
        this.#outputsHeld--;
        if (this.#isClosed) this.discardIfUnused();
        else this.#onOutputReleased(offset);
      },
    };
  }

  /** The worker is gone: nothing more is lent, and what is still held stays readable until it is released. */
  close(): void {
    this.#isClosed = true;
    this.discardIfUnused();
  }

  /** Gives the memory back as soon as nobody holds any of it; to be called when something was released after `close`. */
  discardIfUnused(): void {
    const isUnused = this.#isClosed && this.#outputsHeld === 0 && this.#inputs?.lentRegions === 0;
    if (!isUnused || this.#isGivenBack || this.#mapping === undefined) return;
    this.#isGivenBack = true;
    this.#pool.giveBack(this.#mapping);
  }
}
