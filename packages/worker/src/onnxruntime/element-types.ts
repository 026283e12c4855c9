import { type Datatype, datatypes } from '@millrace/protocol';
import type { Tensor } from 'onnxruntime-node';

type TypedArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float32Array
  | Float64Array;
type TypedArrayConstructor = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => TypedArray;

export interface ElementType {
  readonly onnxName: Tensor.Type;
  /** Undefined for strings, which onnxruntime-node takes as JavaScript strings. */
  readonly array: TypedArrayConstructor | undefined;
}

/** The names and array types of onnxruntime-node for each datatype. It cannot pass BF16 tensors. */
export const elementTypes: Readonly<Record<Datatype, ElementType | undefined>> = {
  BOOL: { onnxName: 'bool', array: Uint8Array },
  UINT8: { onnxName: 'uint8', array: Uint8Array },
  UINT16: { onnxName: 'uint16', array: Uint16Array },
  UINT32: { onnxName: 'uint32', array: Uint32Array },
  UINT64: { onnxName: 'uint64', array: BigUint64Array },
  INT8: { onnxName: 'int8', array: Int8Array },
  INT16: { onnxName: 'int16', array: Int16Array },
  INT32: { onnxName: 'int32', array: Int32Array },
  INT64: { onnxName: 'int64', array: BigInt64Array },
  FP16: { onnxName: 'float16', array: Uint16Array },
  BF16: undefined,
  FP32: { onnxName: 'float32', array: Float32Array },
  FP64: { onnxName: 'float64', array: Float64Array },
  BYTES: { onnxName: 'string', array: undefined },
};

/** The datatype of clients for a type name of onnxruntime-node. */
export function datatypeNameFrom(onnxName: string): string {
  for (const datatype of Object.keys(datatypes) as Datatype[]) {
    if (elementTypes[datatype]?.onnxName === onnxName) return datatype;
  }
  return onnxName;
}

/** Bytes as elements: a view where they are aligned, otherwise a copy. */
export function elementsFrom(bytes: Uint8Array, array: TypedArrayConstructor, elementBytes: number): TypedArray {
  const aligned = bytes.byteOffset % elementBytes === 0 ? bytes : new Uint8Array(bytes);
  return new array(aligned.buffer, aligned.byteOffset, aligned.byteLength / elementBytes);
}
