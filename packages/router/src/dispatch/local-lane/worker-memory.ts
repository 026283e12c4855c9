import assert from 'node:assert';
import { HeapRegion, type Region } from '@millrace/protocol';
import {
  Arena,
  heapBytes,
  inFrameBytesMax,
  type Mapping,
  type MappingPool,
  sharedPageBytes,
} from '@millrace/shared-memory';
import { InputBlocks, JoinedInputs } from './input-blocks.ts';

/** The part of the memory for inputs that requests may hold while they arrive and wait; one of them a part of that. */
const arrivingShare = 1 / 2;
const arrivingShareOfOne = 1 / 8;

/**
 * The router's side of the memory that it shares with one worker: it lends from the first half, which the worker reads, and
 * gets offsets in the second half, which the worker writes. Used only once the worker has confirmed that it mapped it.
 */
export class WorkerMemory {
  /** The size of each half. */
  readonly bytes: number;
  readonly #mapping: Mapping | undefined;
  readonly #inputs: Arena | undefined;
  readonly #blocks: InputBlocks | undefined;
  readonly #pool: MappingPool;
  readonly #onOutputReleased: (offset: number) => void;
  #isShared: boolean = false;
  #stopGivingBack = (): void => {};
  #isClosed: boolean = false;
  #outputsHeld = 0;
  #isGivenBack: boolean = false;

  /** `onOutputReleased` gets the offset of each output that the router has released. */
  constructor(
    pool: MappingPool,
    bytesMax: number,
    onOutputReleased: (offset: number) => void,
    onUnavailable: (reason: string) => void,
    isPoisoned = false,
  ) {
    this.#pool = pool;
    // Pages go back to the system by each half for itself.
    const pageBytes = sharedPageBytes();
    const half = Math.floor(bytesMax / 2 / pageBytes) * pageBytes;
    this.#mapping = half === 0 ? undefined : pool.take(2 * half, onUnavailable);
    this.bytes = this.#mapping === undefined ? 0 : half;
    const memory = this.#mapping?.bytes.subarray(0, half);
    this.#inputs = memory && new Arena(memory);
    this.#blocks =
      this.#inputs &&
      memory &&
      new InputBlocks(this.#inputs, {
        memory,
        bytesMax: half * arrivingShare,
        isPoisoned,
        onFreed: () => this.discardIfUnused(),
      });
    this.#onOutputReleased = onOutputReleased;
  }

  /** To be inherited by the worker; undefined when there is no memory to share. */
  get descriptor(): number | undefined {
    return this.#mapping?.descriptor;
  }

  /** The worker has mapped it. */
  share(): void {
    this.#isShared = true;
    if (this.#mapping !== undefined && this.#inputs !== undefined)
      this.#stopGivingBack = this.#inputs.giveBackUnused(this.#mapping, 0);
  }

  /** Shared memory where it is worthwhile and there is room; ordinary memory otherwise. */
  lend(bytes: number): Region {
    const isWorthwhile = this.#isShared && !this.#isClosed && bytes > inFrameBytesMax;
    const shared = isWorthwhile ? this.#inputs?.takeRegion(bytes) : undefined;
    return shared ?? new HeapRegion(heapBytes(bytes));
  }

  /** Shared memory for the inputs of a request that is arriving; undefined: there is none for it. */
  lendArriving(bytes: number): Region | undefined {
    const isTooLarge = bytes > this.bytes * arrivingShare * arrivingShareOfOne;
    return !this.#isShared || this.#isClosed || isTooLarge ? undefined : this.#blocks?.lend(bytes);
  }

  /** Bytes that requests hold. */
  get arrivingBytes(): number {
    return this.#blocks?.lentBytes ?? 0;
  }

  /** A region for a batch of inputs that lie side by side in memory of `lendArriving`; undefined: they do not. */
  joinArrived(inputs: readonly Uint8Array[]): Region | undefined {
    return this.#isClosed ? undefined : this.#blocks?.join(inputs);
  }

  /** The offset of an input in shared memory; undefined: it is not there. */
  offsetOf(region: Region): number | undefined {
    return region instanceof JoinedInputs ? region.offset : this.#inputs?.offsetOf(region);
  }

  /** An output that the worker wrote; undefined: the offset and size are out of bounds. */
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

  /** The worker has exited: nothing more is lent, and held regions stay readable until they are released. */
  close(): void {
    this.#isClosed = true;
    this.#stopGivingBack();
    this.discardIfUnused();
  }

  /** Frees the memory when nobody holds any of it; to be called after each release that follows `close`. */
  discardIfUnused(): void {
    const isUnused = this.#isClosed && this.#outputsHeld === 0 && this.#inputs?.lentRegions === 0;
    if (!isUnused || this.#isGivenBack || this.#mapping === undefined) return;
    this.#isGivenBack = true;
    this.#pool.giveBack(this.#mapping);
  }
}
