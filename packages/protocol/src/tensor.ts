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
 * batch dimension, which is always -1.
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
}
