/** Whether a BYTES tensor is what it says it is: in slices, for 256 MiB can be 64 million elements. */
import { isUtf8 } from 'node:buffer';
import { BytesCursor, BytesElementsCheck, elementCount, quote, shapeProblem, type Tensor } from '@millrace/protocol';

/** Tensors up to here are checked at once. */
export const bytesCheckBytesMax: number = 256 * 1024;

/** With more texts a request shares no run: finding each request's rows in an answer takes a look at every text. */
const sharedTextsMax = 16 * 1024;

/** Elements and bytes of a slice: a few milliseconds. */
export const sliceElementsMax: number = 128 * 1024;
const sliceBytesMax = 4 * 1024 * 1024;
/** Shorter elements are looked at byte by byte: quicker than a view of each. */
const shortBytesMax = 32;

export function hasManyTexts({ datatype, shape }: Tensor): boolean {
  return datatype === 'BYTES' && elementCount(shape) > sharedTextsMax;
}

export function isLongTexts({ datatype, data }: Tensor): boolean {
  return datatype === 'BYTES' && data.length > bytesCheckBytesMax;
}

/** Returns what is wrong, as it goes on behind the name of the input; undefined: nothing. */
export function* bytesCheckSlices(
  { name, shape, data }: Tensor,
  model: string,
  mustBeText: boolean,
): Generator<void, string | undefined> {
  // Whoever reads the shape refuses it.
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

/** Where the engine takes text, not bytes, an element that it would change or cut off is refused. */
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
