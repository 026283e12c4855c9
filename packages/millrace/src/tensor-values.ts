/** Converts between the values of a program and the tensors of the data plane. */
import {
  bf16From,
  type Datatype,
  datatypes,
  elementsOf,
  encodeBytesElements,
  fp16From,
  InferenceError,
  numbersFromBf16,
  numbersFromFp16,
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

/** `Float16Array`, where the JavaScript engine has it. */
export interface HalfFloats extends ArrayBufferView {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly length: number;
}

/**
 * An input as a program gives it. A typed array of the datatype is used without a copy; a list is converted to the datatype.
 * FP16 and BF16 take numbers in a list, a `Float32Array` or a `Float64Array`, rounded to nearest, or their bits in a
 * `Uint16Array`; FP16 also takes a `Float16Array`.
 */
export interface InputValue {
  readonly shape: readonly number[];
  readonly data: TypedArray | HalfFloats | readonly (number | bigint | boolean | string | Uint8Array)[];
  /** The model's own datatype by default. */
  readonly datatype?: Datatype;
}

/** An output as a program gets it: memory of its own, FP16 and BF16 as numbers in a `Float32Array`, BYTES as text. */
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

/** A copy that stays valid after the memory of the answer is reused. */
export function outputValueFrom(tensor: Tensor): OutputValue {
  const { name, datatype, shape } = tensor;
  if (datatype === 'FP16' || datatype === 'BF16') {
    const bits = elementsOf({ datatype, data: tensor.data });
    const data = new Float32Array(bits.length);
    (datatype === 'FP16' ? numbersFromFp16 : numbersFromBf16)(bits, data);
    return { datatype, shape, data };
  }
  // Not `slice`: a Buffer's gives a view.
  const data = new Uint8Array(tensor.data);
  if (datatype !== 'BYTES') return { datatype, shape, data: elementsOf({ datatype, data }) };
  const elements = takeBytesElements(data) ?? [];
  return { datatype, shape, data: elements.map((element, index) => textFrom(element, index, name)) };
}

/** A byte order mark is part of the text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textFrom(element: Uint8Array, index: number, name: string): string {
  try {
    return decoder.decode(element);
  } catch {
    throw new InferenceError(
      'unsupported',
      `element ${index} of output '${name}' is not valid UTF-8, and BYTES outputs are given as text; ` +
        'request other outputs, or this one over REST or gRPC as binary data',
    );
  }
}

/** Half of a character: UTF-8 cannot encode it, and the encoder would write a replacement character. */
const loneSurrogate = /\p{Surrogate}/u;

function bytesFrom(name: string, data: InputValue['data'], datatype: Datatype): Uint8Array {
  if (ArrayBuffer.isView(data)) return halvesFrom(data, datatype) ?? bytesUnder(name, data, datatype);
  if (!Array.isArray(data)) throw refusal(`input '${name}' needs data: a list or a typed array`);
  const list: readonly Element[] = data;
  const refuse = (index: number): never => {
    const element = String(list[index]);
    throw refusal(`element ${index} of input '${name}' is ${element}, which is not a value of ${datatype}`);
  };
  if (datatype === 'BYTES') {
    return encodeBytesElements(
      list.map((element, index) =>
        (typeof element === 'string' && !loneSurrogate.test(element)) || element instanceof Uint8Array
          ? element
          : refuse(index),
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

/** 16-bit floats from numbers; undefined for other datatypes and arrays. */
function halvesFrom(data: TypedArray | HalfFloats, datatype: Datatype): Uint8Array | undefined {
  if (datatype !== 'FP16' && datatype !== 'BF16') return undefined;
  if (!(data instanceof Float32Array || data instanceof Float64Array)) return undefined;
  const bitsFrom = datatype === 'FP16' ? fp16From : bf16From;
  return new Uint8Array(Uint16Array.from(data, bitsFrom).buffer);
}

/** A typed array is used without conversion, so it must have the datatype's element type. A `Uint8Array` fits every datatype. */
function bytesUnder(name: string, data: TypedArray | HalfFloats, datatype: Datatype): Uint8Array {
  const kind = data[Symbol.toStringTag];
  const wanted = elementsOf({ datatype, data: new Uint8Array() })[Symbol.toStringTag];
  const isHalves = datatype === 'FP16' && kind === 'Float16Array';
  if (kind !== wanted && kind !== 'Uint8Array' && !isHalves) {
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
