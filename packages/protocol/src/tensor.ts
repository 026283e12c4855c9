import type { Datatype } from './datatypes.ts';

/**
 * A tensor as on the wire: row-major, little-endian, BYTES elements length-prefixed. `data` is a view of
 * whatever the bytes arrived in (a socket buffer, shared memory); reading needs no copy.
 */
export interface Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/**
 * The declaration of one input or output of a model. A dimension of -1 is free; a batched model's shape begins with the
 * batch dimension, which is always -1, except for inputs that have a default.
 */
export interface TensorSpec {
  readonly name: string;
  readonly datatype: Datatype;
  /** As callers see it. */
  readonly shape: readonly number[];
  /** As the engine sees it, where the configuration reshapes: same elements, free dimensions in the same order. */
  readonly engineShape?: readonly number[];
  /** An optional input of the engine. */
  readonly isOptional?: boolean;
  /**
   * An input that the graph has an initializer for. Its shape is the graph's own, without a batch dimension; a request
   * that provides it overrides the initializer for the whole run, so it must run alone.
   */
  readonly hasDefault?: boolean;
  /**
   * The graph does not state how many dimensions it has: any number is accepted, and `shape` is [-1] as a substitute.
   */
  readonly isAnyRank?: boolean;
}
