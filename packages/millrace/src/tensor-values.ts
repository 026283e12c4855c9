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
  const { shape, data } = value;
  if (!Array.isArray(shape)) throw refusal(`input '${name}' needs a shape: a list of whole numbers`);
  return { name, datatype, shape, data: bytesFrom(name, data, datatype) };
}

/** A copy that the program may keep, whatever happens to the memory of the answer. */
export function outputValueFrom(tensor: Tensor): OutputValue {
  const { datatype, shape } = tensor;
  // Not `slice`: a Buffer's gives a view.
  const data = new Uint8Array(tensor.data);
  if (datatype !== 'BYTES') return { datatype, shape, data: elementsOf({ datatype, data }) };
  const decoder = new TextDecoder();
  return { datatype, shape, data: (takeBytesElements(data) ?? []).map((element) => decoder.decode(element)) };
}

function bytesFrom(name: string, data: InputValue['data'], datatype: Datatype): Uint8Array {
  if (ArrayBuffer.isView(data)) return bytesUnder(name, data, datatype);
  if (!Array.isArray(data)) throw refusal(`input '${name}' needs data: a list or a typed array`);
  const list: readonly Element[] = data;
  const refuse = (index: number): never => {
    const element = String(list[index]);
    throw refusal(`element ${index} of input '${name}' is ${element}, which is not a value of ${datatype}`);
  };
  if (datatype === 'BYTES') {
    return encodeBytesElements(
      list.map((element, index) =>
        typeof element === 'string' || element instanceof Uint8Array ? element : refuse(index),
      ),
    );
  }
  const bytes = new Uint8Array(list.length * datatypes[datatype].bytes);
  const elements = elementsOf({ datatype, data: bytes });
  for (let index = 0; index < list.length; index++) {
    const isTaken =
      elements instanceof BigInt64Array || elements instanceof BigUint64Array
        ? putWhole(elements, index, list[index])
        : putNumber(elements, index, list[index], datatype);
    if (!isTaken) refuse(index);
  }
  return bytes;
}

const isFloat: ReadonlySet<Datatype> = new Set(['FP16', 'BF16', 'FP32', 'FP64']);

type Element = number | bigint | boolean | string | Uint8Array;

/** A typed array is taken as it lies, so it must be of the datatype's kind. Bytes are right for all of them. */
function bytesUnder(name: string, data: TypedArray, datatype: Datatype): Uint8Array {
  const kind = data[Symbol.toStringTag];
  const wanted = elementsOf({ datatype, data: new Uint8Array() })[Symbol.toStringTag];
  if (kind !== wanted && kind !== 'Uint8Array') {
    const asBytes = wanted === 'Uint8Array' ? '' : ', or its bytes in a Uint8Array';
    throw refusal(`input '${name}' is a ${kind}; ${datatype} takes a ${wanted}${asBytes}, or a list`);
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function putWhole(elements: BigInt64Array | BigUint64Array, index: number, element: Element | undefined): boolean {
  if (typeof element !== 'bigint' && !Number.isSafeInteger(element)) return false;
  const whole = BigInt(element as bigint | number);
  elements[index] = whole;
  return elements[index] === whole;
}

function putNumber(
  elements: Exclude<TypedArray, BigInt64Array | BigUint64Array>,
  index: number,
  element: Element | undefined,
  datatype: Datatype,
): boolean {
  if (datatype === 'BOOL') {
    elements[index] = Number(element);
    return element === true || element === false || element === 0 || element === 1;
  }
  if (typeof element !== 'number') return false;
  if (datatype === 'FP16') elements[index] = fp16From(element);
  else if (datatype === 'BF16') elements[index] = bf16From(element);
  else elements[index] = element;
  // Floats are rounded to what the datatype can hold; whole numbers must be held exactly.
  return isFloat.has(datatype) || elements[index] === element;
}

function refusal(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
