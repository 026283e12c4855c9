/** Converts between the bytes of tensors and the values of pipelines. */
import {
  type Datatype,
  datatypes,
  elementCount,
  elementsOf,
  encodeBytesElements,
  type Tensor,
  type TensorSpec,
  takeBytesElements,
} from '@millrace/protocol';
import type { GivenTensor, PipelineTensor } from './pipeline-api.ts';

/** `data` must not be shared, because the pipeline may keep it. */
export function pipelineTensorFrom(tensor: Omit<Tensor, 'name'>): PipelineTensor {
  const { datatype, shape, data } = tensor;
  if (datatype === 'BYTES') return { datatype, shape, data: takeBytesElements(data) ?? [] };
  return { datatype, shape, data: elementsOf({ datatype, data }) } as PipelineTensor;
}

/** Throws an error that names the tensor and says what to do. `spec` is given for an output that is declared. */
export function tensorFromGiven(what: string, name: string, value: unknown, spec?: TensorSpec): Tensor {
  if (typeof value !== 'object' || value === null || !('data' in value)) {
    throw new TypeError(`${what} '${name}' is missing; give { data, shape }`);
  }
  const given = value as GivenTensor;
  const datatype = datatypeOf(given.data, given.datatype ?? spec?.datatype);
  if (datatype === undefined) {
    throw new TypeError(`the data of ${what} '${name}' is neither a typed array nor a list of text or bytes`);
  }
  if (given.datatype !== undefined && datatype !== given.datatype) {
    throw new TypeError(`${what} '${name}' says ${String(given.datatype)}, but its data is ${datatype}`);
  }
  if (spec !== undefined && datatype !== spec.datatype) {
    throw new TypeError(`${what} '${name}' is ${datatype}, but ${spec.datatype} is declared`);
  }
  const { bytes, count } = bytesOf(what, name, given.data, datatype);
  // Nearly all answers: the declared shape, with nothing left to check but the number of elements.
  if (given.shape === undefined && spec !== undefined && elementCount(spec.shape) === count && count > 0) {
    const { shape } = spec;
    if (!shape.some(isFree)) return { name, datatype, shape, data: bytes };
  }
  const shape = given.shape ?? (spec === undefined ? [count] : shapeFor(spec, count));
  if (shape === undefined) throw new TypeError(`${what} '${name}' needs a shape: several sizes are free`);
  if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw new TypeError(`the shape of ${what} '${name}' must be a list of whole numbers, each at least 0`);
  }
  if (elementCount(shape) !== count) {
    throw new TypeError(`${what} '${name}' has ${count} elements, but its shape is [${shape.join(', ')}]`);
  }
  if (spec !== undefined && !fits(shape, spec.shape)) {
    const declared = spec.shape.join(', ');
    throw new TypeError(`${what} '${name}' has the shape [${shape.join(', ')}], but [${declared}] is declared`);
  }
  return { name, datatype, shape, data: bytes };
}

const arrayDatatypes: readonly (readonly [{ readonly name: string }, Datatype])[] = [
  [Uint8Array, 'UINT8'],
  [Buffer, 'UINT8'],
  [Uint16Array, 'UINT16'],
  [Uint32Array, 'UINT32'],
  [BigUint64Array, 'UINT64'],
  [Int8Array, 'INT8'],
  [Int16Array, 'INT16'],
  [Int32Array, 'INT32'],
  [BigInt64Array, 'INT64'],
  [Float32Array, 'FP32'],
  [Float64Array, 'FP64'],
];
const datatypeByArray: ReadonlyMap<unknown, Datatype> = new Map(arrayDatatypes);
/** For arrays of another realm, and those that stand in for one of these. Reading the name of a function costs more than the rest of an answer's checks. */
const datatypeByName: ReadonlyMap<string, Datatype> = new Map(
  arrayDatatypes.map(([{ name }, datatype]) => [name, datatype]),
);

/** A declared datatype applies where the array can hold it but does not determine it. */
function datatypeOf(data: GivenTensor['data'], declared: Datatype | undefined): Datatype | undefined {
  if (Array.isArray(data)) return 'BYTES';
  const told = ArrayBuffer.isView(data) ? datatypeByConstructor(data.constructor) : undefined;
  if (told === 'UINT8' && declared === 'BOOL') return declared;
  if (told === 'UINT16' && (declared === 'FP16' || declared === 'BF16')) return declared;
  return told;
}

function datatypeByConstructor(array: { readonly name: string }): Datatype | undefined {
  return datatypeByArray.get(array) ?? datatypeByName.get(array.name);
}

function bytesOf(
  what: string,
  name: string,
  data: GivenTensor['data'],
  datatype: Datatype,
): { bytes: Uint8Array; count: number } {
  if (datatype === 'BYTES') {
    const list = data as readonly unknown[];
    const isList = Array.isArray(list) && list.every((item) => typeof item === 'string' || item instanceof Uint8Array);
    if (!isList) throw new TypeError(`the data of ${what} '${name}' must be a list of text or bytes`);
    return { bytes: encodeBytesElements(list as readonly (string | Uint8Array)[]), count: list.length };
  }
  if (!ArrayBuffer.isView(data)) throw new TypeError(`the data of ${what} '${name}' must be a typed array`);
  // V8 keeps a small array without a buffer until somebody asks for it.
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const count = bytes.length / datatypes[datatype].bytes;
  if (!Number.isInteger(count))
    throw new TypeError(`the data of ${what} '${name}' is not a whole number of ${datatype} elements`);
  return { bytes, count };
}

function isFree(size: number): boolean {
  return size < 0;
}

/** The declared shape, with its one free size computed from the number of elements. */
function shapeFor({ shape }: TensorSpec, count: number): readonly number[] | undefined {
  const free = shape.filter(isFree).length;
  if (free > 1) return undefined;
  const fixed = shape.reduce((product, size) => (size < 0 ? product : product * size), 1);
  return shape.map((size) => (size < 0 ? Math.floor(count / fixed) : size));
}

function fits(shape: readonly number[], declared: readonly number[]): boolean {
  return (
    shape.length === declared.length &&
    shape.every((size, axis) => (declared[axis] as number) < 0 || size === declared[axis])
  );
}
