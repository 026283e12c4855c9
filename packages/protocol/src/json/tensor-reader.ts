/** Reads the `data` array of a tensor, flat or nested, directly into the bytes of the tensor. */
import type { Datatype } from '../datatypes.ts';
import { InferenceError } from '../errors.ts';
import { quote, quotedCharactersMax, shortened } from '../quote.ts';
import { formatShape, shapeProblem, takeElementCount } from '../tensor-shape.ts';
import type { JsonReader } from './reader.ts';
import { rowReaders } from './tensor-rows.ts';
import { describeKind, TensorTarget } from './tensor-target.ts';

/** What the request says about the tensor whose data follows. */
export interface JsonTensorHeader {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

export interface TensorReadOptions {
  /** Accept FP16 and BF16 as numbers, which Triton refuses. */
  readonly acceptsHalfPrecision?: boolean;
}

/**
 * The bytes of a tensor, read from the array at the reader's position. The array is flat or nested in any way: only the
 * number of elements counts. Throws an `InferenceError` that names the input, the element and the problem; integers
 * that do not fit are refused, never wrapped.
 */
export function readTensorData(reader: JsonReader, header: JsonTensorHeader, options?: TensorReadOptions): Uint8Array {
  const target = beginTensorData(reader, header, options);
  continueTensorData(target, reader.end + 1);
  return target.take();
}

/** Checks what can be checked before the data is read, and allocates memory for it. */
export function beginTensorData(
  reader: JsonReader,
  header: JsonTensorHeader,
  options?: TensorReadOptions,
): TensorTarget {
  const { name, datatype, shape } = header;
  if ((datatype === 'FP16' || datatype === 'BF16') && options?.acceptsHalfPrecision !== true) {
    throw refusal(
      `receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${shortened(name, quotedCharactersMax)}`,
    );
  }
  const problem = shapeProblem(shape);
  if (problem !== undefined) throw refusal(`input ${quote(name)}: ${problem}`);
  const count = takeElementCount(shape) as number;
  // Every element takes a character and a comma: without this check the shape would decide how much is allocated.
  if (count > (reader.end - reader.position) / 2 + 1) {
    throw refusal(
      `input ${quote(name)} has shape ${formatShape(shape)}, and what follows in the body is too short for ${count} elements`,
    );
  }
  const kind = reader.peekKind();
  if (kind !== 'array') throw refusal(`the data of input ${quote(name)} is ${describeKind(kind)}; it must be an array`);
  const target = new TensorTarget(reader, header, count);
  reader.beginArray();
  return target;
}

/**
 * Reads elements in the order of the text, whatever their nesting, as Triton does, up to the first that begins at
 * `pauseAt` or later; true when all are read. The reader limits the depth (`jsonDepthMax`).
 */
export function continueTensorData(target: TensorTarget, pauseAt: number): boolean {
  const { reader, count } = target;
  const readRow = rowReaders[target.datatype];
  target.pauseAt = pauseAt;
  for (;;) {
    if (reader.position >= pauseAt) return false;
    target.found += readRow(target, target.found, count - target.found);
    if (target.isPaused) {
      target.isPaused = false;
      return false;
    }
    if (target.isAtArray) target.isAtArray = false;
    else if (target.found === count && reader.nextElement()) {
      if (!reader.isAtArray()) throw target.wrongCount(`more than ${count}`);
    } else {
      // The array has ended, and perhaps arrays around it.
      target.depth -= 1;
      let end = reader.position;
      while (target.depth > 0 && !reader.nextElement()) {
        target.depth -= 1;
        end = reader.position;
      }
      if (target.depth === 0 && target.found < count) throw target.wrongCount(`${target.found}`);
      if (target.depth === 0) return true;
      if (!reader.isAtArray()) {
        // The row's reader skips the comma itself.
        reader.position = end;
        continue;
      }
    }
    reader.beginArray();
    target.depth += 1;
  }
}

function refusal(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
