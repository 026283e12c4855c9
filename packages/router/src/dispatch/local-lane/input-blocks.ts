/**
 * Memory that a worker reads, lent to requests while they arrive. A batch whose inputs lie side by side in it is run where they
 * are; a block is free when neither its request nor a batch needs it any more, so that nobody ever reads what another one sent.
 */
import assert from 'node:assert';
import { IdMap, type Region } from '@millrace/protocol';
import type { Arena, ArenaRegion } from '@millrace/shared-memory';

/** Fills free blocks where memory is poisoned. */
const poisonByte = 0xdb;

class InputBlock {
  readonly region: ArenaRegion;
  /** The request, and batches in flight. */
  holders = 1;

  constructor(region: ArenaRegion) {
    this.region = region;
  }

  get end(): number {
    return this.region.offset + this.region.bytes.length;
  }
}

/** Inputs where they arrived, held for a batch. */
export class JoinedInputs implements Region {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly #release: () => void;
  #isReleased: boolean = false;

  constructor(bytes: Uint8Array, offset: number, release: () => void) {
    this.bytes = bytes;
    this.offset = offset;
    this.#release = release;
  }

  release(): void {
    assert(!this.#isReleased, 'the inputs of a batch were released twice');
    this.#isReleased = true;
    this.#release();
  }
}

export interface InputBlocksOptions {
  /** The memory of the arena. */
  readonly memory: Uint8Array;
  /** Most bytes that requests hold at once: batches of other requests need the rest. */
  readonly bytesMax: number;
  /** Overwrites blocks when they are free: for tests. */
  readonly isPoisoned: boolean;
  /** Called after a block became free. */
  readonly onFreed: () => void;
}

export class InputBlocks {
  readonly #arena: Arena;
  readonly #options: InputBlocksOptions;
  /** By their offset. */
  readonly #blocks = new IdMap<InputBlock>();
  #lentBytes = 0;

  constructor(arena: Arena, options: InputBlocksOptions) {
    this.#arena = arena;
    this.#options = options;
  }

  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** Memory for the inputs of one request; undefined: there is no room. */
  lend(bytes: number): Region | undefined {
    if (this.#lentBytes + bytes > this.#options.bytesMax) return undefined;
    const region = this.#arena.takeRegion(bytes);
    if (region === undefined) return undefined;
    const block = new InputBlock(region);
    this.#blocks.set(region.offset, block);
    this.#lentBytes += bytes;
    let isReleased = false;
    return {
      bytes: region.bytes,
      release: () => {
        assert(!isReleased, 'the inputs of a request were released twice');
        isReleased = true;
        this.#release(block);
      },
    };
  }

  /**
   * Holds inputs for a batch where they are. Undefined: they do not lie in these blocks, or not side by side in this order.
   * Inputs of one request may have anything between them.
   */
  join(inputs: readonly Uint8Array[]): JoinedInputs | undefined {
    const { memory } = this.#options;
    const held: InputBlock[] = [];
    let block: InputBlock | undefined;
    let end = 0;
    for (const input of inputs) {
      const at = input.byteOffset - memory.byteOffset;
      if (input.buffer !== memory.buffer) return undefined;
      const isInside = block !== undefined && at >= end && at + input.length <= block.end;
      if (!isInside) {
        if (block !== undefined && at !== end) return undefined;
        block = this.#blocks.get(at);
        if (block === undefined || at + input.length > block.end) return undefined;
        held.push(block);
      }
      end = at + input.length;
    }
    const first = held[0];
    if (first === undefined) return undefined;
    for (const one of held) one.holders++;
    const { offset } = first.region;
    return new JoinedInputs(memory.subarray(offset, end), offset, () => {
      for (const one of held) this.#release(one);
    });
  }

  #release(block: InputBlock): void {
    block.holders--;
    if (block.holders > 0) return;
    const { region } = block;
    if (this.#options.isPoisoned) region.bytes.fill(poisonByte);
    this.#blocks.delete(region.offset);
    this.#lentBytes -= region.bytes.length;
    region.release();
    this.#options.onFreed();
  }
}
