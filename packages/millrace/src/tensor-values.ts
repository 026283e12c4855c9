/** Between the values a program has and the tensors the data plane moves. */
import {
  type Datatype,
  elementCount,
  elementsOf,
  encodeBytesElements,
  floatToFloat16,
  InferenceError,
  type Tensor,
  type TensorSpec,
  takeBytesElements,
} from '@millrace/protocol';

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

/** An input as a program gives it. A typed array is used as it lies; a list is converted to the model's datatype. */
export interface InputValue {
  readonly shape: readonly number[];
  readonly data: TypedArray | readonly (number | bigint | boolean | string | Uint8Array)[];
  /** The model's own datatype unless said otherwise. */
  readonly datatype?: Datatype;
}

/** An output as a program gets it: memory of its own, 16-bit floats as bits, BYTES as text. */
export interface OutputValue {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: TypedArray | readonly string[];
}
