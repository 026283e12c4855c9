import type { Datatype } from './datatypes.ts';

/**
 * A tensor as it lies on the wire: row-major, little-endian, BYTES elements length-prefixed. `data` is a view of
 * whatever the bytes arrived in (a socket buffer, shared memory); nobody copies it to look at it.
 */
export interface Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/**
 * What a model declares of one input or output. A dimension of -1 is free; a batched model's shape begins with the
 * batch dimension, which is always -1, except for inputs that have a default.
 */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** As callers see it. */
  readonly shape: readonly number[];
  /** As the engine sees it, where the configuration reshapes: same elements, free dimensions in the same order. */
  readonly engineShape?: readonly number[];
  /** An input the engine can do without. */
  readonly isOptional?: boolean;
  /**
   * An input that the graph has an initializer for. Its shape is the graph's own, without a batch dimension; a request
   * that gives it overrides the initializer for the whole run, so it must run alone.
   */
  readonly hasDefault?: boolean;
  /** The graph does not state how many dimensions it has: any number is taken, and `shape` is [-1] for want of better. */
  readonly isAnyRank?: boolean;
}
