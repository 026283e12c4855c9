/**
 * One reader per group of datatypes for the elements of one array: the innermost loops of reading tensors. Each reads
 * up to `count` elements into the position of element `first`, and returns how many it found before the array ended or
 * another began (`TensorTarget.isAtArray`), or before it must pause (`TensorTarget.isPaused`).
 */
import { bytesPrefixBytes } from '../bytes-elements.ts';
import type { Datatype } from '../datatypes.ts';
import { bf16From, fp16From } from '../float16.ts';
import { writeUint32 } from '../little-endian.ts';
import { quote } from '../quote.ts';
import { decodeBase64InPlace } from './decode-base64.ts';
import { appendStringPart } from './read-string.ts';
import { textOfNumber } from './scan-number.ts';
import type { TensorTarget } from './tensor-target.ts';

type RowReader = (target: TensorTarget, first: number, count: number) => number;

export const rowReaders: Readonly<Record<Datatype, RowReader>> = {
  BOOL: readBooleans,
  UINT8: (target, first, count) => readIntegers(target, first, count, 0, 0xff),
  UINT16: (target, first, count) => readIntegers(target, first, count, 0, 0xffff),
  UINT32: (target, first, count) => readIntegers(target, first, count, 0, 0xffff_ffff),
  INT8: (target, first, count) => readIntegers(target, first, count, -0x80, 0x7f),
  INT16: (target, first, count) => readIntegers(target, first, count, -0x8000, 0x7fff),
  INT32: (target, first, count) => readIntegers(target, first, count, -0x8000_0000, 0x7fff_ffff),
  UINT64: (target, first, count) => readIntegers64(target, first, count, 0n, (1n << 64n) - 1n),
  INT64: (target, first, count) => readIntegers64(target, first, count, -(1n << 63n), (1n << 63n) - 1n),
  FP16: (target, first, count) => readHalves(target, first, count, fp16From, 0x7c00),
  BF16: (target, first, count) => readHalves(target, first, count, bf16From, 0x7f80),
  FP32: readSingles,
  FP64: readDoubles,
  BYTES: readTexts,
};

function readSingles(target: TensorTarget, first: number, count: number): number {
  const { reader, singles, pauseAt } = target;
  const { number } = reader;
  for (let index = 0; index < count; index += 1) {
    if (reader.position >= pauseAt) return target.pause(index);
    if (!reader.nextElement()) return index;
    if (!reader.scanNumber()) return target.stopAtArray(index, first + index, 'numbers');
    const single = Math.fround(number.value);
    if (Math.abs(single) === Number.POSITIVE_INFINITY && !number.isWord) throw tooLarge(target, first + index);
    singles[first + index] = single;
  }
  return count;
}

function readDoubles(target: TensorTarget, first: number, count: number): number {
  const { reader, doubles, pauseAt } = target;
  const { number } = reader;
  for (let index = 0; index < count; index += 1) {
    if (reader.position >= pauseAt) return target.pause(index);
    if (!reader.nextElement()) return index;
    if (!reader.scanNumber()) return target.stopAtArray(index, first + index, 'numbers');
    if (Math.abs(number.value) === Number.POSITIVE_INFINITY && !number.isWord) throw tooLarge(target, first + index);
    doubles[first + index] = number.value;
  }
  return count;
}

function readHalves(
  target: TensorTarget,
  first: number,
  count: number,
  bitsFrom: (value: number) => number,
  infinity: number,
): number {
  const { reader, halves, pauseAt } = target;
  for (let index = 0; index < count; index += 1) {
    if (reader.position >= pauseAt) return target.pause(index);
    if (!reader.nextElement()) return index;
    if (!reader.scanNumber()) return target.stopAtArray(index, first + index, 'numbers');
    const bits = bitsFrom(reader.number.value);
    if ((bits & 0x7fff) === infinity && !reader.number.isWord) throw tooLarge(target, first + index);
    halves[first + index] = bits;
  }
  return count;
}

function readIntegers(target: TensorTarget, first: number, count: number, min: number, max: number): number {
  const { reader, bytes, halves, uint32s, pauseAt } = target;
  const { number } = reader;
  const width = max - min;
  for (let index = 0; index < count; index += 1) {
    if (reader.position >= pauseAt) return target.pause(index);
    if (!reader.nextElement()) return index;
    if (!reader.scanNumber()) return target.stopAtArray(index, first + index, 'integers');
    const { value } = number;
    if (!number.isInteger) throw notAnInteger(target, first + index);
    if (value < min || value > max) throw tooLarge(target, first + index);
    // Signed and unsigned elements have the same bits.
    if (width === 0xff) bytes[first + index] = value;
    else if (width === 0xffff) halves[first + index] = value;
    else uint32s[first + index] = value;
  }
  return count;
}

function readIntegers64(target: TensorTarget, first: number, count: number, min: bigint, max: bigint): number {
  const { reader, uint32s, pauseAt } = target;
  const { number } = reader;
  for (let index = 0; index < count; index += 1) {
    if (reader.position >= pauseAt) return target.pause(index);
    if (!reader.nextElement()) return index;
    if (!reader.scanNumber()) return target.stopAtArray(index, first + index, 'integers');
    if (!number.isInteger) throw notAnInteger(target, first + index);
    const at = 2 * (first + index);
    const { value } = number;
    // Within 2^53 the double is exact, and dividing it by a power of two is too: no bigint is created.
    if (Number.isSafeInteger(value) && (value >= 0 || min < 0n)) {
      uint32s[at] = value;
      uint32s[at + 1] = Math.floor(value / 0x1_0000_0000);
      continue;
    }
    const exact = BigInt(textOfNumber(reader.bytes, number));
    if (exact < min || exact > max) throw tooLarge(target, first + index);
    uint32s[at] = Number(exact & 0xffff_ffffn);
    uint32s[at + 1] = Number((exact >> 32n) & 0xffff_ffffn);
  }
  return count;
}

function readBooleans(target: TensorTarget, first: number, count: number): number {
  const { reader, bytes, pauseAt } = target;
  for (let index = 0; index < count; index += 1) {
    if (reader.position >= pauseAt) return target.pause(index);
    if (!reader.nextElement()) return index;
    if (reader.peekKind() !== 'boolean') return target.stopAtArray(index, first + index, 'true and false');
    bytes[first + index] = reader.readBoolean() ? 1 : 0;
  }
  return count;
}

function readTexts(target: TensorTarget, first: number, count: number): number {
  const { reader, growable, pauseAt } = target;
  for (let index = 0; index < count; index += 1) {
    if (target.textPrefix === -1) {
      if (reader.position >= pauseAt) return target.pause(index);
      if (!reader.nextElement()) return index;
      const kind = reader.peekKind();
      if (kind === 'object') beginBase64(target, first + index);
      else if (kind !== 'string') return target.stopAtArray(index, first + index, 'strings');
      reader.position += 1;
      growable.reserve(bytesPrefixBytes);
      // Counted from the start of the piece: appending may move it.
      target.textPrefix = growable.end - growable.start;
      growable.end += bytesPrefixBytes;
      if (kind === 'object') target.base64Start = growable.end - growable.start;
    }
    const isClosed = reader.scanStringPart(Math.max(pauseAt, reader.position + 1));
    const { end, hasEscapes } = reader.scannedString;
    appendStringPart(reader.bytes, reader.position, isClosed ? end - 1 : end, hasEscapes, growable);
    reader.position = end;
    if (target.base64Start !== -1) decodePart(target, first + index, isClosed);
    if (!isClosed) return target.pause(index);
    const at = growable.start + target.textPrefix;
    writeUint32(growable.bytes, at, growable.end - at - bytesPrefixBytes);
    target.textPrefix = -1;
  }
  return count;
}

const base64Key = [...'"b64"'].map((character) => character.charCodeAt(0));

/**
 * Bytes that are not text are written as in TensorFlow Serving: `{"b64": "…"}`. The key is compared before it is read,
 * because one of any length would be read without a pause.
 */
function beginBase64(target: TensorTarget, element: number): void {
  const { reader } = target;
  reader.beginObject();
  const isBase64 =
    !reader.isAtObjectEnd() && base64Key.every((byte, index) => reader.bytes[reader.position + index] === byte);
  if (!isBase64) throw wrongObject(target, element);
  reader.nextKey();
  if (reader.peekKind() !== 'string') throw wrongObject(target, element);
}

/** Decodes what has been read of a string. A last group is left until its end is known: it may be padded. */
function decodePart(target: TensorTarget, element: number, isClosed: boolean): void {
  const { growable, reader } = target;
  const from = growable.start + target.base64Start;
  const unread = growable.end - from;
  const whole = isClosed ? unread : 4 * Math.floor(Math.max(0, unread - 1) / 4);
  const end = decodeBase64InPlace(growable.bytes, from, from + whole, isClosed);
  if (end === -1) {
    const form = 'with the characters A-Z a-z 0-9 + /, padded with =, and without line breaks';
    throw target.refusal(`element ${element} of input ${quote(target.name)} is not base64; write it ${form}`);
  }
  growable.bytes.copyWithin(end, from + whole, growable.end);
  growable.end = end + unread - whole;
  target.base64Start = end - growable.start;
  if (!isClosed) return;
  target.base64Start = -1;
  if (!reader.isAtObjectEnd()) throw wrongObject(target, element);
  reader.nextKey();
}

function wrongObject(target: TensorTarget, element: number): Error {
  return target.refusal(
    `element ${element} of input ${quote(target.name)} is an object; BYTES takes strings, and bytes that are not text as {"b64": "…"} with nothing beside it`,
  );
}

function tooLarge(target: TensorTarget, element: number): Error {
  return target.wrongNumber(element, `does not fit ${target.datatype}`);
}

function notAnInteger(target: TensorTarget, element: number): Error {
  return target.wrongNumber(
    element,
    `is not an integer; ${target.datatype} takes integers, written without point or exponent`,
  );
}
