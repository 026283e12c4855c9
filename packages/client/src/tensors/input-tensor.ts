/** Values of programs as tensors. Typed arrays are not copied. */
import { type Datatype, datatypes, encodeBytesElements, type Tensor } from '@millrace/protocol';
import type { TensorDescription } from '../transports/transport.ts';

export type NumberArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** Elements of one tensor. Texts and byte strings are elements of BYTES. */
export type InputElements = NumberArray | readonly number[] | readonly boolean[] | readonly (string | Uint8Array)[];

/** A tensor with its shape. The datatype follows from a typed array, and is needed for 16-bit floats. */
export interface ShapedInput {
  readonly shape: readonly number[];
  readonly data: InputElements;
  readonly datatype?: Datatype;
}

/** A value alone takes its shape from the model's metadata; a text or a file is one element of BYTES. */
export type ModelInput = ShapedInput | InputElements | string | Blob;

/** Whether the model's metadata has to be known to make a tensor of it. */
export function needsDescription(value: ModelInput): boolean {
  return !isShaped(value) || (value.datatype === undefined && takeDatatype(value.data) === undefined);
}

/** A Blob has to be read first. */
export function inputTensorFrom(
  model: string,
  name: string,
  value: Exclude<ModelInput, Blob>,
  description: TensorDescription | undefined,
): Tensor {
  const where = `input ${JSON.stringify(name)} of ${model}`;
  const elements = isShaped(value) ? value.data : typeof value === 'string' ? [value] : value;
  const given = isShaped(value) ? value.datatype : undefined;
  const datatype = given ?? description?.datatype ?? takeDatatype(elements);
  if (datatype === undefined) throw new TypeError(`${where} needs a datatype: give {datatype, shape, data}`);
  if (!isAccepted(elements, datatype)) {
    const given = kindOf(elements, datatype);
    throw new TypeError(`${where} is ${datatype}, which takes ${acceptedBy(datatype)}, not ${given}`);
  }
  const data = bytesOf(where, elements, datatype);
  const count = Array.isArray(elements) ? elements.length : data.length / (datatypes[datatype].bytes ?? 1);
  const shape = isShaped(value) ? value.shape : shapeFor(where, count, description);
  // What is no size makes the product NaN, which is no count.
  const sizeOf = (size: number): number => (Number.isInteger(size) && size >= 0 ? size : Number.NaN);
  const expected = shape.reduce((product, size) => product * sizeOf(size), 1);
  if (expected !== count) {
    throw new TypeError(`${where} has ${count} elements, but the shape [${shape.join(', ')}] has ${expected}`);
  }
  return { name, datatype, shape, data };
}

/** The one shape that has so many elements, where the description leaves only one. */
function shapeFor(where: string, count: number, description: TensorDescription | undefined): readonly number[] {
  if (description === undefined) throw new TypeError(`${where} needs a shape: give {shape, data}`);
  const { shape } = description;
  const free = shape.filter((size) => size < 0).length;
  // With several free dimensions the first is the batch: one row.
  let rowsLeft = free > 1 ? 1 : 0;
  const known = shape.reduce((product, size) => (size < 0 ? product : product * size), 1);
  const rest = known === 0 ? 0 : count / known;
  if (free > 2 || (free > 0 && !Number.isInteger(rest))) {
    throw new TypeError(
      `${where} has the shape [${shape.join(', ')}], which ${count} elements do not determine: give {shape, data}`,
    );
  }
  return shape.map((size) => {
    if (size >= 0) return size;
    return rowsLeft-- > 0 ? 1 : rest;
  });
}

function isShaped(value: ModelInput): value is ShapedInput {
  return typeof value === 'object' && value !== null && 'shape' in value && 'data' in value;
}

/** By the name of the class, which is the same in every frame of a page. */
const datatypesByArray: Readonly<Record<string, Datatype>> = {
  Int8Array: 'INT8',
  Uint8Array: 'UINT8',
  Uint8ClampedArray: 'UINT8',
  Int16Array: 'INT16',
  Uint16Array: 'UINT16',
  Int32Array: 'INT32',
  Uint32Array: 'UINT32',
  Float16Array: 'FP16',
  Float32Array: 'FP32',
  Float64Array: 'FP64',
  BigInt64Array: 'INT64',
  BigUint64Array: 'UINT64',
};

/** Arrays that hold the bits of another datatype than their own. */
const alsoAccepted: Partial<Record<Datatype, readonly string[]>> = {
  BOOL: ['Uint8Array'],
  FP16: ['Uint16Array'],
  BF16: ['Uint16Array'],
};

function takeDatatype(elements: InputElements): Datatype | undefined {
  if (!Array.isArray(elements)) return datatypesByArray[tagOf(elements)];
  const first: unknown = elements[0];
  if (typeof first === 'string' || first instanceof Uint8Array) return 'BYTES';
  return typeof first === 'boolean' ? 'BOOL' : undefined;
}

function tagOf(elements: unknown): string {
  return Object.prototype.toString.call(elements).slice(8, -1);
}

function kindOf(elements: InputElements, datatype: Datatype): string {
  const at = Array.isArray(elements) ? strangerIn(elements, datatype) : -1;
  return at < 0 ? tagOf(elements) : `${tagOf((elements as readonly unknown[])[at])} as element ${at}`;
}

function isAccepted(elements: InputElements, datatype: Datatype): boolean {
  if (!Array.isArray(elements)) {
    const tag = tagOf(elements);
    return datatypesByArray[tag] === datatype || (alsoAccepted[datatype]?.includes(tag) ?? false);
  }
  return typeOf(datatype) !== '' && strangerIn(elements, datatype) < 0;
}

/** The first element that the datatype does not take. Unlike `every`, this sees the holes of an array. */
function strangerIn(list: readonly unknown[], datatype: Datatype): number {
  const type = typeOf(datatype);
  return list.findIndex((one) => typeof one !== type && !(type === 'string' && one instanceof Uint8Array));
}

/** Of the elements of a list; byte strings go for texts. Empty: there is no list of the datatype. */
function typeOf(datatype: Datatype): string {
  if (datatype === 'BYTES') return 'string';
  return datatype === 'BOOL' ? 'boolean' : numberArrays[datatype] === undefined ? '' : 'number';
}

function acceptedBy(datatype: Datatype): string {
  if (datatype === 'BYTES') return 'a list of texts or byte strings';
  const arrays = Object.keys(datatypesByArray).filter((name) => datatypesByArray[name] === datatype);
  const list = datatype === 'BOOL' ? ['boolean[]'] : numberArrays[datatype] === undefined ? [] : ['number[]'];
  return [...arrays, ...(alsoAccepted[datatype] ?? []), ...list].join(' or ') || 'nothing';
}

/** What a list of plain numbers becomes. 64-bit integers and 16-bit floats have typed arrays only. */
const numberArrays: Partial<Record<Datatype, { from(list: readonly number[]): NumberArray }>> = {
  INT8: Int8Array,
  UINT8: Uint8Array,
  INT16: Int16Array,
  UINT16: Uint16Array,
  INT32: Int32Array,
  UINT32: Uint32Array,
  FP32: Float32Array,
  FP64: Float64Array,
};

function bytesOf(where: string, elements: InputElements, datatype: Datatype): Uint8Array {
  if (!Array.isArray(elements)) return viewOf(elements as NumberArray);
  if (datatype === 'BYTES') return encodeBytesElements(elements as readonly (string | Uint8Array)[]);
  if (datatype === 'BOOL') return Uint8Array.from(elements as readonly boolean[], Number);
  const list = elements as readonly number[];
  const array = numberArrays[datatype]?.from(list) as NumberArray;
  // FP32 rounds, but a number that is too large would become infinite; an integer that does not fit, and NaN, another integer.
  const isFloat = datatype === 'FP32' || datatype === 'FP64';
  const at = list.findIndex((one, index) =>
    isFloat ? Number.isFinite(one) !== Number.isFinite(array[index]) : one !== array[index],
  );
  if (at >= 0) throw new RangeError(`${where} has ${list[at]} as element ${at}, which ${datatype} does not hold`);
  return viewOf(array);
}

function viewOf(array: NumberArray): Uint8Array {
  return array instanceof Uint8Array ? array : new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
