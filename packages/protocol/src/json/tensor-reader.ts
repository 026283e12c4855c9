/** Reads the `data` array of a tensor, flat or nested, straight into the bytes of the tensor. */
import type { Datatype } from '../datatypes.ts';
import { InferenceError } from '../errors.ts';
import { formatShape, shapeProblem, takeElementCount } from '../tensor-shape.ts';
import type { JsonReader } from './reader.ts';
import { rowReaders } from './tensor-rows.ts';
import { describeKind, TensorTarget } from './tensor-target.ts';

/** What the caller's text says of the tensor whose data follows. */
export interface TensorHeader {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

export interface TensorReadOptions {
  /** Take FP16 and BF16 as numbers, which Triton refuses. */
  readonly acceptsHalfPrecision?: boolean;
}

/**
 * The bytes of a tensor, read from the array at the reader's position. The array is flat or nested exactly as the shape
 * says. Throws an `InferenceError` that names the input, the element and what is wrong; integers that do not fit are
 * refused, never wrapped.
 */
export function readTensorData(reader: JsonReader, header: TensorHeader, options?: TensorReadOptions): Uint8Array {
  const { name, datatype, shape } = header;
  if ((datatype === 'FP16' || datatype === 'BF16') && options?.acceptsHalfPrecision !== true) {
    throw refusal(
      `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`,
    );
  }
  const problem = shapeProblem(shape);
  if (problem !== undefined) throw refusal(`input '${name}': ${problem}`);
  const count = takeElementCount(shape) as number;
  // Every element takes a character and a comma: without this check the shape would choose how much is allocated.
  if (count > (reader.end - reader.position) / 2 + 1) {
    throw refusal(`input '${name}' has shape ${formatShape(shape)}, which is more elements than the text can hold`);
  }
  const kind = reader.peekKind();
  if (kind !== 'array') throw refusal(`the data of input '${name}' is ${describeKind(kind)}; it must be an array`);
  const target = new TensorTarget(reader, header, count);
  reader.beginArray();
  const isNested = shape.length > 1 && reader.isAtArray();
  if (isNested) readNested(target, 0, 0);
  else readRow(target, 0, count, -1);
  return target.take();
}

/** Reads the array of the given axis, already begun, whose first element is number `first` of the tensor. */
function readNested(target: TensorTarget, axis: number, first: number): number {
  const { reader, shape } = target;
  const size = shape[axis] as number;
  if (axis === shape.length - 1) return readRow(target, first, size, axis);
  let next = first;
  for (let index = 0; index < size; index += 1) {
    if (!reader.nextElement()) throw target.wrongLength(axis, false, index, first);
    const kind = reader.peekKind();
    if (kind !== 'array') throw target.wrongNesting(next, kind);
    reader.beginArray();
    next = readNested(target, axis + 1, next);
  }
  if (reader.nextElement()) throw target.wrongLength(axis, true, size, first);
  return next;
}

/** Reads `count` elements and the end of their array; axis -1 is flat data. */
function readRow(target: TensorTarget, first: number, count: number, axis: number): number {
  const read = rowReaders[target.datatype](target, first, count);
  if (read < count) throw target.wrongLength(axis, false, read, first);
  if (target.reader.nextElement()) {
    const kind = target.reader.peekKind();
    throw kind === 'array' ? target.wrongNesting(first + count, kind) : target.wrongLength(axis, true, count, first);
  }
  return first + count;
}

function refusal(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
