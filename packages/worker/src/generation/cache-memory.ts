/**
 * The caches of all sequences. Caches of one length lie side by side in one block of memory for each tensor, so that a run
 * takes those of its sequences as one tensor without a copy; what moves are single rows, when sequences join and leave.
 */
import type { SequenceId } from '@millrace/generation';
import { type CacheTensors, elementBytesOf } from './decoder-tensors.ts';

/** The new keys or values of one run: shape rows, heads, tokens, size of a head. */
export interface NewTokens {
  readonly bytes: Uint8Array;
  /** The same bytes as words of 32 bits, where they are aligned. */
  readonly words?: Uint32Array | undefined;
  /** Tokens of a row, of which the last `count` are new. */
  readonly tokens: number;
}

interface Place {
  readonly block: Block;
  row: number;
}

/** All caches of one length. */
interface Block {
  readonly tokens: number;
  /** One for each tensor; the same number of rows in each. */
  memory: readonly Uint8Array[];
  /** The same memory as words of 32 bits. */
  words: readonly Uint32Array[];
  /** By row; undefined: free. */
  owners: (SequenceId | undefined)[];
  used: number;
  /** Rows from here on were never written: they hold zeros. */
  firstCleanRow: number;
}

/** A call for a copy takes longer than to copy this much. */
const shortBytesMax = 512;

/** Undefined: the bytes are not aligned. */
export function takeFourByteElements({ buffer, byteOffset, byteLength }: Uint8Array): Uint32Array | undefined {
  return byteOffset % 4 === 0 ? new Uint32Array(buffer, byteOffset, byteLength >>> 2) : undefined;
}

function copyWords(source: Uint32Array, from: number, target: Uint32Array, to: number, count: number): void {
  for (let word = 0; word < count; word++) target[to + word] = source[from + word] as number;
}

export class CacheMemory {
  readonly #tensors: readonly CacheTensors[];
  /** Of one token, all heads of a tensor. */
  readonly #tokenBytes: readonly number[];
  readonly #blocks = new Map<number, Block>();
  readonly #places = new Map<SequenceId, Place>();

  constructor(tensors: readonly CacheTensors[]) {
    this.#tensors = tensors;
    this.#tokenBytes = tensors.map((tensor) => tensor.heads * tensor.headSize * elementBytesOf(tensor));
  }

  /** What is allocated: blocks have spare rows. */
  get bytes(): number {
    let bytes = 0;
    for (const { memory } of this.#blocks.values()) for (const one of memory) bytes += one.length;
    return bytes;
  }

  /**
   * Brings the caches of these sequences, which have the same length, into neighbouring rows from `firstRow` on. Returns the
   * sequences in the order of their rows.
   */
  gather(ids: readonly SequenceId[], firstRow: number): readonly SequenceId[] {
    const first = this.#places.get(ids[0] as SequenceId);
    if (first === undefined) return ids;
    const { block } = first;
    const members = new Set(ids);
    this.#reserve(block, firstRow + ids.length);
    let free = firstRow;
    for (const id of ids) {
      const place = this.#places.get(id) as Place;
      if (place.row >= firstRow && place.row < firstRow + ids.length) continue;
      while (members.has(block.owners[free] as SequenceId)) free += 1;
      this.#exchange(block, place.row, free);
    }
    return block.owners.slice(firstRow, firstRow + ids.length) as SequenceId[];
  }

  /** The memory of a tensor for `rows` sequences, of which this is the first. */
  view(id: SequenceId, tensor: number, rows: number): Uint8Array {
    const { block, row } = this.#places.get(id) as Place;
    const rowBytes = block.tokens * (this.#tokenBytes[tensor] as number);
    return (block.memory[tensor] as Uint8Array).subarray(row * rowBytes, (row + rows) * rowBytes);
  }

  /**
   * Adds `count` tokens to the cache of a sequence that has `tokensRead`, one entry of `added` for each tensor, and `sourceRow` its row
   * there. `cacheTokens` is the length that the cache has from now on.
   */
  append(
    id: SequenceId,
    tokensRead: number,
    count: number,
    cacheTokens: number,
    added: readonly NewTokens[],
    sourceRow: number,
  ): void {
    const { block, row } = this.#lengthen(id, tokensRead, cacheTokens);
    for (const [index, tensor] of this.#tensors.entries()) {
      const { bytes, words, tokens } = added[index] as NewTokens;
      const target = block.memory[index] as Uint8Array;
      const size = tensor.headSize * elementBytesOf(tensor);
      const copied = count * size;
      const source = copied <= shortBytesMax && size % 4 === 0 ? words : undefined;
      const targetWords = block.words[index] as Uint32Array;
      for (let head = 0; head < tensor.heads; head++) {
        const from = ((sourceRow * tensor.heads + head) * tokens + tokens - count) * size;
        const to = ((row * tensor.heads + head) * cacheTokens + tokensRead) * size;
        if (source === undefined) target.set(bytes.subarray(from, from + copied), to);
        else copyWords(source, from / 4, targetWords, to / 4, copied / 4);
      }
    }
  }

  release(id: SequenceId): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    this.#leave(place);
  }

  /** Moves the cache to a block of another length, where it differs. */
  #lengthen(id: SequenceId, tokensRead: number, cacheTokens: number): Place {
    const before = this.#places.get(id);
    if (before?.block.tokens === cacheTokens) return before;
    const place = this.#enter(id, cacheTokens);
    if (before === undefined) return place;
    for (const [index, tensor] of this.#tensors.entries()) {
      const source = before.block.memory[index] as Uint8Array;
      const target = place.block.memory[index] as Uint8Array;
      const size = tensor.headSize * elementBytesOf(tensor);
      for (let head = 0; head < tensor.heads; head++) {
        const from = (before.row * tensor.heads + head) * before.block.tokens * size;
        const to = (place.row * tensor.heads + head) * cacheTokens * size;
        target.set(source.subarray(from, from + tokensRead * size), to);
      }
    }
    this.#leave(before);
    return place;
  }

  #enter(id: SequenceId, tokens: number): Place {
    let block = this.#blocks.get(tokens);
    if (block === undefined) {
      block = {
        tokens,
        memory: this.#tensors.map(() => new Uint8Array(0)),
        words: [],
        owners: [],
        used: 0,
        firstCleanRow: 0,
      };
      this.#blocks.set(tokens, block);
    }
    let row = block.owners.indexOf(undefined);
    if (row === -1) row = block.owners.length;
    this.#reserve(block, row + 1);
    // Padding is masked, but what a former owner left there may be infinite, and zero times infinity is no number.
    if (row < block.firstCleanRow) {
      for (const [index, memory] of block.memory.entries()) {
        const rowBytes = tokens * (this.#tokenBytes[index] as number);
        memory.fill(0, row * rowBytes, (row + 1) * rowBytes);
      }
    }
    block.firstCleanRow = Math.max(block.firstCleanRow, row + 1);
    block.owners[row] = id;
    block.used += 1;
    const place = { block, row };
    this.#places.set(id, place);
    return place;
  }

  #leave({ block, row }: Place): void {
    block.owners[row] = undefined;
    block.used -= 1;
    if (block.used === 0) this.#blocks.delete(block.tokens);
  }

  #reserve(block: Block, rows: number): void {
    const rowsNow = block.owners.length;
    if (rows <= rowsNow) return;
    const rowsNew = Math.max(rows, 2 * rowsNow);
    block.memory = block.memory.map((memory, index) => {
      const rowBytes = block.tokens * (this.#tokenBytes[index] as number);
      const grown = new Uint8Array(rowsNew * rowBytes);
      grown.set(memory.subarray(0, block.firstCleanRow * rowBytes));
      return grown;
    });
    block.words = block.memory.map((memory) => new Uint32Array(memory.buffer, 0, memory.length >>> 2));
    while (block.owners.length < rowsNew) block.owners.push(undefined);
  }

  #exchange(block: Block, left: number, right: number): void {
    const [leftOwner, rightOwner] = [block.owners[left], block.owners[right]];
    block.firstCleanRow = Math.max(block.firstCleanRow, left + 1, right + 1);
    for (const [index, memory] of block.memory.entries()) {
      const rowBytes = block.tokens * (this.#tokenBytes[index] as number);
      const target = memory.subarray(right * rowBytes, (right + 1) * rowBytes);
      const kept = rightOwner === undefined ? undefined : new Uint8Array(target);
      memory.copyWithin(right * rowBytes, left * rowBytes, (left + 1) * rowBytes);
      if (kept !== undefined) memory.set(kept, left * rowBytes);
    }
    block.owners[left] = rightOwner;
    block.owners[right] = leftOwner;
    if (leftOwner !== undefined) (this.#places.get(leftOwner) as Place).row = right;
    if (rightOwner !== undefined) (this.#places.get(rightOwner) as Place).row = left;
  }
}
