import type { NativeGraph } from './native-graph.ts';

/** Larger inputs are read where they lie. */
export const keptInputBytesMax = 16 * 1024;
/** How many shapes of an input are kept. */
export const keptShapesMax = 64;

/** Makes and releases values of the engine. */
export type KeptValues = Pick<NativeGraph, 'makeValue' | 'releaseValue'>;

interface KeptShape {
  readonly shape: readonly number[];
  readonly value: bigint;
}

/**
 * Memory for small values of one input, with a value of the engine for each shape that came lately: to make such a value takes longer than
 * to copy the bytes. Every run overwrites what the one before left.
 */
export class KeptInput {
  readonly #graph: KeptValues;
  readonly #elementNumber: number;
  readonly #bytes = Buffer.allocUnsafeSlow(keptInputBytesMax);
  /** By the first dimension: most often the number of rows, while the others stay as they are. */
  readonly #shapes = new Map<number, KeptShape>();

  constructor(graph: KeptValues, elementNumber: number) {
    this.#graph = graph;
    this.#elementNumber = elementNumber;
  }

  /** The value with these bytes, until the next call. */
  hold(data: Uint8Array, shape: readonly number[]): bigint {
    this.#bytes.set(data);
    const first = shape[0] ?? -1;
    const kept = this.#shapes.get(first);
    if (kept !== undefined && isSameShape(kept.shape, shape)) return kept.value;
    const memory = this.#bytes.subarray(0, data.length);
    // Throws for shapes that the engine refuses, as [1, 2^40, 2^40, 0]: until then nothing is released that is still kept here.
    const value = this.#graph.makeValue(memory, BigInt64Array.from(shape, BigInt), this.#elementNumber);
    if (kept !== undefined) this.#graph.releaseValue(kept.value);
    else if (this.#shapes.size === keptShapesMax) this.release();
    this.#shapes.set(first, { shape: [...shape], value });
    return value;
  }

  release(): void {
    for (const { value } of this.#shapes.values()) this.#graph.releaseValue(value);
    this.#shapes.clear();
  }
}

function isSameShape(shape: readonly number[], other: readonly number[]): boolean {
  if (shape.length !== other.length) return false;
  for (let axis = 0; axis < shape.length; axis++) if (shape[axis] !== other[axis]) return false;
  return true;
}
