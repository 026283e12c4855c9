/** Checks that a BYTES tensor is well-formed, in slices, because 256 MiB can be 64 million elements. */
import { isUtf8 } from 'node:buffer';
import { BytesCursor, BytesElementsCheck, elementCount, quote, shapeProblem, type Tensor } from '@millrace/protocol';

/** Tensors up to this size are checked in one go. */
export const bytesCheckBytesMax: number = 256 * 1024;

/** A request with more texts than this shares no run, because finding each request's rows in an answer reads every text. */
const sharedTextsMax = 16 * 1024;

/** Limits of a slice: a few milliseconds of work. */
export const sliceElementsMax: number = 128 * 1024;
const sliceBytesMax = 4 * 1024 * 1024;
/** Shorter elements are checked byte by byte, which is faster than making a view of each. */
const shortBytesMax = 32;

export function hasManyTexts({ datatype, shape }: Tensor): boolean {
  return datatype === 'BYTES' && elementCount(shape) > sharedTextsMax;
}

export function isLongTexts({ datatype, data }: Tensor): boolean {
  return datatype === 'BYTES' && data.length > bytesCheckBytesMax;
}

/** Returns what is wrong, as an error message; undefined: nothing. */
export function* bytesCheckSlices(
  { name, shape, data }: Tensor,
  model: string,
  mustBeText: boolean,
): Generator<void, string | undefined> {
  // An invalid shape is refused where shapes are checked.
  if (shapeProblem(shape) !== undefined) return undefined;
  const check = new BytesElementsCheck(data, elementCount(shape));
  while (!check.step(sliceElementsMax)) yield;
  if (check.problem !== undefined) return `input ${quote(name)} for model ${quote(model)}: ${check.problem}`;
  if (!mustBeText) return undefined;
  const cursor = new BytesCursor(data);
  let elements = 0;
  let bytes = 0;
  for (let element = 0; cursor.next(); element++) {
    const problem = textProblemOf(cursor);
    if (problem !== undefined) return `element ${element} of input ${quote(name)} for model ${quote(model)} ${problem}`;
    elements += 1;
    bytes += cursor.length;
    if (elements < sliceElementsMax && bytes < sliceBytesMax) continue;
    elements = 0;
    bytes = 0;
    yield;
  }
  return undefined;
}

/** For engines that take text, not bytes: refuses an element that the engine would change or truncate. */
function textProblemOf(cursor: BytesCursor): string | undefined {
  if (cursor.length <= shortBytesMax && isPlain(cursor)) return undefined;
  const text = cursor.view();
  if (text.includes(0)) return 'contains a zero byte';
  return isUtf8(text) ? undefined : 'is not valid UTF-8';
}

function isPlain({ data, offset, length }: BytesCursor): boolean {
  for (let at = offset; at < offset + length; at++) {
    const byte = data[at] as number;
    if (byte === 0 || byte >= 0x80) return false;
  }
  return true;
}
