import { alignedToElement, type BatchTensor, InferenceError, type Region } from '@millrace/protocol';
import type { OutputMemory } from './engine.ts';

const sentinelBytes = 8;
const noParts: readonly Uint8Array[] = [];

/** Of outputs that were given and not copied: it holds nothing. */
const givenRegion: Region = { bytes: new Uint8Array(0), release: () => {} };

/**
 * The memory of the outputs of one run, with a check that they were written: lent memory holds data of other callers, so each part is
 * marked with a sentinel at both ends, and a region with a part whose sentinel is intact is never returned. A value that equals the
 * sentinel by chance causes a second run or a failed one, never a wrong answer.
 */
export class GuardedOutputMemory implements OutputMemory {
  readonly #lend: (bytes: number) => Region;
  readonly #random: () => number;
  readonly #givenBytesMax: number;
  #region: Region | undefined;
  #parts: readonly Uint8Array[] = noParts;
  /** By position: parts that were written by `write` or `fill`, with any bytes. */
  #copied: boolean[] | undefined;
  #sentinelLow = 0;
  #sentinelHigh = 0;

  /**
   * `random` returns 32 bits that callers cannot predict. Outputs that are given, of up to `givenBytesMax` in all, are not copied: whoever
   * takes the region copies the outputs before anything else runs.
   */
  constructor(lend: (bytes: number) => Region, random: () => number, givenBytesMax = 0) {
    this.#lend = lend;
    this.#random = random;
    this.#givenBytesMax = givenBytesMax;
  }

  layOut(sizes: readonly number[]): readonly Uint8Array[] {
    if (this.#region !== undefined) this.release();
    let bytes = 0;
    for (const size of sizes) bytes = alignedToElement(bytes) + size;
    const region = this.#lend(bytes);
    const low = this.#random();
    const high = this.#random();
    this.#region = region;
    this.#sentinelLow = low;
    this.#sentinelHigh = high;
    const parts: Uint8Array[] = [];
    let end = 0;
    for (const size of sizes) {
      const begin = alignedToElement(end);
      // The padding between two parts is returned with them, so it is cleared.
      while (end < begin) region.bytes[end++] = 0;
      end = begin + size;
      const part = region.bytes.subarray(begin, end);
      mark(part, low, high);
      parts.push(part);
    }
    this.#parts = parts;
    return parts;
  }

  give(outputs: readonly Uint8Array[]): readonly Uint8Array[] {
    let bytes = 0;
    for (let part = 0; part < outputs.length; part++) bytes += (outputs[part] as Uint8Array).length;
    if (bytes > this.#givenBytesMax) {
      const parts = this.layOut(outputs.map(({ length }) => length));
      for (let part = 0; part < outputs.length; part++) this.write(part, outputs[part] as Uint8Array);
      return parts;
    }
    if (this.#region !== undefined) this.release();
    this.#parts = outputs;
    this.#region = givenRegion;
    return outputs;
  }

  write(part: number, bytes: Uint8Array): void {
    (this.#parts[part] as Uint8Array).set(bytes);
    this.#markCopied(part);
  }

  fill(part: number, write: (target: Uint8Array) => void): void {
    write(this.#parts[part] as Uint8Array);
    this.#markCopied(part);
  }

  isWritten(part: number): boolean {
    const bytes = this.#parts[part] as Uint8Array;
    const { length } = bytes;
    if (length === 0 || this.#region === givenRegion || this.#copied?.[part] === true) return true;
    const low = this.#sentinelLow;
    const high = this.#sentinelHigh;
    const last = length - 1;
    // Most values differ from the sentinel in their first byte and their last.
    if (bytes[0] !== sentinelAt(0, low, high) && bytes[last] !== sentinelAt(last, low, high)) return true;
    if (isIntact(bytes, 0, Math.min(sentinelBytes, length), low, high)) return false;
    return !isIntact(bytes, Math.max(0, length - sentinelBytes), length, low, high);
  }

  /**
   * The region with the outputs of a run that has ended; the caller must release it. Throws `inference-failed` when an output was not written
   * or is in other memory; this object still owns the memory then.
   */
  take(outputs: readonly BatchTensor[]): Region {
    if (outputs.length !== this.#parts.length) {
      throw wrong(`it returned ${outputs.length} outputs, but laid out memory for ${this.#parts.length}`);
    }
    for (let part = 0; part < outputs.length; part++) {
      const { index, data } = outputs[part] as BatchTensor;
      if (!isStartOf(data, this.#parts[part] as Uint8Array)) throw wrong(`output ${index} is not in its own memory`);
      if (!this.isWritten(part)) throw wrong(`output ${index} was not written`);
    }
    const region = this.#region ?? this.#lend(0);
    this.#forget();
    return region;
  }

  /** Releases the memory that is laid out, if any. */
  release(): void {
    this.#region?.release();
    this.#forget();
  }

  #forget(): void {
    this.#region = undefined;
    this.#parts = noParts;
    this.#copied = undefined;
  }

  #markCopied(part: number): void {
    this.#copied ??= [];
    this.#copied[part] = true;
  }
}

/** Both sentinels of a part that is shorter than the two agree where they overlap: a byte depends on its position only. */
function mark(part: Uint8Array, low: number, high: number): void {
  const { length } = part;
  const headEnd = Math.min(sentinelBytes, length);
  for (let at = 0; at < headEnd; at++) part[at] = sentinelAt(at, low, high);
  for (let at = Math.max(headEnd, length - sentinelBytes); at < length; at++) part[at] = sentinelAt(at, low, high);
}

function isIntact(part: Uint8Array, begin: number, end: number, low: number, high: number): boolean {
  for (let at = begin; at < end; at++) if (part[at] !== sentinelAt(at, low, high)) return false;
  return true;
}

function sentinelAt(at: number, low: number, high: number): number {
  return (((at & 4) === 0 ? low : high) >>> ((at & 3) << 3)) & 0xff;
}

/** A run that needs fewer rows than its engine ran returns the first of them. */
function isStartOf(data: Uint8Array, part: Uint8Array): boolean {
  if (data === part) return true;
  return data.buffer === part.buffer && data.byteOffset === part.byteOffset && data.length <= part.length;
}

function wrong(what: string): InferenceError {
  return new InferenceError('inference-failed', `the engine returned an invalid answer: ${what}`);
}
