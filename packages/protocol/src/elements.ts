import type { Datatype } from './datatypes.ts';

/** The typed array that holds the elements of each datatype. 16-bit floats are bits: see float16.ts. */
export interface ElementArrays {
  BOOL: Uint8Array;
  UINT8: Uint8Array;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array;
  BF16: Uint16Array;
  FP32: Float32Array;
  FP64: Float64Array;
  /** The encoded elements as they are: see bytes-elements.ts. */
  BYTES: Uint8Array;
}

/**
 * The elements of a tensor as a typed array: a view of the same memory where its alignment allows, otherwise a copy.
 * Views are little-endian because every platform that runs JavaScript today is.
 * The data must be whole elements (`tensorProblem` found nothing).
 */
export function elementsOf<T extends Datatype>(tensor: {
  readonly datatype: T;
  readonly data: Uint8Array;
}): ElementArrays[T];
export function elementsOf(tensor: {
  readonly datatype: Datatype;
  readonly data: Uint8Array;
}): ElementArrays[Datatype] {
  const { data } = tensor;
  switch (tensor.datatype) {
    case 'BOOL':
    case 'UINT8':
    case 'BYTES':
      return data;
    case 'INT8':
      return new Int8Array(data.buffer, data.byteOffset, data.length);
    case 'UINT16':
    case 'FP16':
    case 'BF16': {
      const { buffer, byteOffset } = alignedFor(data, 2);
      return new Uint16Array(buffer, byteOffset, data.length / 2);
    }
    case 'INT16': {
      const { buffer, byteOffset } = alignedFor(data, 2);
      return new Int16Array(buffer, byteOffset, data.length / 2);
    }
    case 'UINT32': {
      const { buffer, byteOffset } = alignedFor(data, 4);
      return new Uint32Array(buffer, byteOffset, data.length / 4);
    }
    case 'INT32': {
      const { buffer, byteOffset } = alignedFor(data, 4);
      return new Int32Array(buffer, byteOffset, data.length / 4);
    }
    case 'FP32': {
      const { buffer, byteOffset } = alignedFor(data, 4);
      return new Float32Array(buffer, byteOffset, data.length / 4);
    }
    case 'UINT64': {
      const { buffer, byteOffset } = alignedFor(data, 8);
      return new BigUint64Array(buffer, byteOffset, data.length / 8);
    }
    case 'INT64': {
      const { buffer, byteOffset } = alignedFor(data, 8);
      return new BigInt64Array(buffer, byteOffset, data.length / 8);
    }
    case 'FP64': {
      const { buffer, byteOffset } = alignedFor(data, 8);
      return new Float64Array(buffer, byteOffset, data.length / 8);
    }
  }
}

/** The same bytes at an offset that a typed array of this element size accepts. */
function alignedFor(data: Uint8Array, elementBytes: number): Uint8Array {
  return data.byteOffset % elementBytes === 0 ? data : new Uint8Array(data);
}
