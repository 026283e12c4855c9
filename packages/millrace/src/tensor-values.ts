/** Between the values a program has and the tensors the data plane moves. */
import {
  bf16From,
  type Datatype,
  datatypes,
  elementsOf,
  encodeBytesElements,
  fp16From,
  InferenceError,
  type Tensor,
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

/** An input as a program gives it. A typed array is used as it lies; a list is converted to the datatype. */
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

export function tensorFrom(name: string, value: InputValue, datatype: Datatype): Tensor {
  return { name, datatype, shape: value.shape, data: bytesFrom(name, value.data, datatype) };
}

/** A copy that the program may keep, whatever happens to the memory of the answer. */
export function outputValueFrom(tensor: Tensor): OutputValue {
  const { datatype, shape } = tensor;
  const data = tensor.data.slice();
  if (datatype !== 'BYTES') return { datatype, shape, data: elementsOf({ datatype, data }) };
  const decoder = new TextDecoder();
  return { datatype, shape, data: (takeBytesElements(data) ?? []).map((element) => decoder.decode(element)) };
}

function bytesFrom(name: string, data: InputValue['data'], datatype: Datatype): Uint8Array {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const refuse = (index: number): never => {
    throw new InferenceError(
      'invalid-request',
      `element ${index} of input '${name}' is ${String(data[index])}, which is not a value of ${datatype}`,
    );
  };
  if (datatype === 'BYTES') {
    return encodeBytesElements(
      data.map((element, index) =>
        typeof element === 'string' || element instanceof Uint8Array ? element : refuse(index),
      ),
    );
  }
  const bytes = new Uint8Array(data.length * datatypes[datatype].bytes);
  const elements = elementsOf({ datatype, data: bytes });
  for (let index = 0; index < data.length; index++) {
    const element = data[index];
    if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) {
      if (typeof element !== 'bigint' && !Number.isSafeInteger(element)) refuse(index);
      const whole = BigInt(element as bigint | number);
      elements[index] = whole;
      if (elements[index] !== whole) refuse(index);
    } else {
      if (typeof element !== 'number' && !(datatype === 'BOOL' && typeof element === 'boolean')) refuse(index);
      const number = Number(element);
      if (datatype === 'FP16') elements[index] = fp16From(number);
      else if (datatype === 'BF16') elements[index] = bf16From(number);
      else elements[index] = number;
      const isRounded = datatype === 'FP16' || datatype === 'BF16' || datatype === 'FP32' || datatype === 'FP64';
      if (!isRounded && elements[index] !== number) refuse(index);
    }
  }
  return bytes;
}
