/** Writes the elements of a tensor as a flat JSON array. */
import { BytesCursor } from '../bytes-elements.ts';
import { datatypes } from '../datatypes.ts';
import { elementsOf } from '../elements.ts';
import { InferenceError } from '../errors.ts';
import { numberFromBf16, numberFromFp16 } from '../float16.ts';
import { quote } from '../quote.ts';
import type { Tensor } from '../tensor.ts';
import type { GrowableBytes } from './growable-bytes.ts';
import {
  bf16Format,
  fp16Format,
  fp32Format,
  numberCharactersReserved,
  writeDouble,
  writeFloat,
  writeInteger,
} from './write-number.ts';
import { appendAscii, appendEscapedUtf8, appendQuotedUtf8 } from './write-string.ts';
import type { JsonWriter } from './writer.ts';

/**
 * Writes `[…]`, row-major and flat, where a value is expected. The tensor must be well-formed (`tensorProblem` found
 * nothing). Throws an `InferenceError` for BYTES that are not UTF-8: JSON cannot represent them.
 */
export function writeTensorData(writer: JsonWriter, tensor: Tensor): void {
  const { sink } = writer;
  openArray(writer);
  const contentStart = sink.end - sink.start;
  appendElements(sink, tensor);
  closeArray(writer, sink.end - sink.start > contentStart);
}

/** The same for elements of UINT8 that are a part of other bytes, without a view of them. */
export function writeByteElements(writer: JsonWriter, bytes: Uint8Array, from: number, to: number): void {
  openArray(writer);
  appendBytes(writer.sink, bytes, from, to);
  closeArray(writer, to > from);
}

/** The elements with other text around them, which has the brackets. For a writer with nothing written, and not for BYTES. */
export function writeTensorBetween(
  writer: JsonWriter,
  before: Uint8Array,
  tensor: Tensor,
  after: Uint8Array,
): Uint8Array {
  const { sink } = writer;
  appendText(sink, before);
  appendElements(sink, tensor);
  // Every element wrote a comma after it.
  if (tensor.data.length > 0) sink.end -= 1;
  appendText(sink, after);
  return writer.take();
}

function appendText(sink: GrowableBytes, bytes: Uint8Array): void {
  sink.reserve(bytes.length);
  sink.bytes.set(bytes, sink.end);
  sink.end += bytes.length;
}

/** How much is written between two pauses. */
const stepElements = 2048;
const stepTextBytes = 64 * 1024;

/** The same with pauses, in which `takePart` may take what is written so far. */
export function* writeTensorSteps(writer: JsonWriter, tensor: Tensor): Generator<void, void> {
  const { name, datatype, shape, data } = tensor;
  openArray(writer);
  if (datatype === 'BYTES') yield* appendTextSteps(writer.sink, tensor);
  else {
    const stepBytes = stepElements * datatypes[datatype].bytes;
    for (let from = 0; from < data.length; from += stepBytes) {
      // Not after the last elements: their comma becomes the bracket.
      if (from > 0) yield;
      appendElements(writer.sink, { name, datatype, shape, data: data.subarray(from, from + stepBytes) });
    }
  }
  closeArray(writer, data.length > 0);
}

function openArray(writer: JsonWriter): void {
  writer.beginValue();
  const { sink } = writer;
  sink.reserve(1);
  sink.bytes[sink.end++] = 0x5b;
}

/** Every element wrote a comma after it; the last one becomes the bracket. */
function closeArray(writer: JsonWriter, hasElements: boolean): void {
  const { sink } = writer;
  sink.reserve(1);
  if (hasElements) sink.end -= 1;
  sink.bytes[sink.end++] = 0x5d;
  writer.endValue();
}

function appendElements(sink: GrowableBytes, tensor: Tensor): void {
  const { data, datatype } = tensor;
  switch (datatype) {
    case 'FP32': {
      const elements = elementsOf({ datatype, data });
      for (let index = 0; index < elements.length; index += 1) {
        sink.reserve(numberCharactersReserved);
        appendComma(sink, writeFloat(sink.bytes, sink.end, elements[index] as number, fp32Format));
      }
      return;
    }
    case 'FP64': {
      const elements = elementsOf({ datatype, data });
      for (let index = 0; index < elements.length; index += 1) {
        sink.reserve(numberCharactersReserved);
        appendComma(sink, writeDouble(sink.bytes, sink.end, elements[index] as number));
      }
      return;
    }
    case 'FP16':
    case 'BF16': {
      const elements = elementsOf({ datatype, data });
      for (let index = 0; index < elements.length; index += 1) {
        const bits = elements[index] as number;
        const value = datatype === 'FP16' ? numberFromFp16(bits) : numberFromBf16(bits);
        sink.reserve(numberCharactersReserved);
        appendComma(sink, writeFloat(sink.bytes, sink.end, value, datatype === 'FP16' ? fp16Format : bf16Format));
      }
      return;
    }
    case 'INT64':
    case 'UINT64':
      appendIntegers64(sink, data, datatype === 'INT64');
      return;
    case 'BOOL':
      for (let index = 0; index < data.length; index += 1) appendAscii(sink, data[index] === 0 ? 'false,' : 'true,');
      return;
    case 'BYTES':
      appendTexts(sink, tensor);
      return;
    case 'UINT8':
      appendBytes(sink, data, 0, data.length);
      return;
    case 'UINT16':
    case 'UINT32':
    case 'INT8':
    case 'INT16':
    case 'INT32': {
      const elements = elementsOf({ datatype, data });
      for (let index = 0; index < elements.length; index += 1) {
        sink.reserve(numberCharactersReserved);
        appendComma(sink, writeInteger(sink.bytes, sink.end, elements[index] as number));
      }
    }
  }
}

const byteCharactersMax = 4;
/** Elements for which memory is reserved at once: most have fewer than the most characters. */
const reservedElements = 1024;

function appendBytes(sink: GrowableBytes, data: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at += reservedElements)
    appendFewBytes(sink, data, at, Math.min(to, at + reservedElements));
}

function appendFewBytes(sink: GrowableBytes, data: Uint8Array, from: number, to: number): void {
  sink.reserve((to - from) * byteCharactersMax);
  const { bytes } = sink;
  let { end } = sink;
  for (let index = from; index < to; index += 1) {
    let rest = data[index] as number;
    if (rest >= 100) {
      const hundreds = rest >= 200 ? 2 : 1;
      bytes[end++] = 0x30 + hundreds;
      rest -= hundreds * 100;
      // Exact below 100, and no division.
      const tens = (rest * 205) >> 11;
      bytes[end++] = 0x30 + tens;
      rest -= tens * 10;
    } else if (rest >= 10) {
      const tens = (rest * 205) >> 11;
      bytes[end++] = 0x30 + tens;
      rest -= tens * 10;
    }
    bytes[end++] = 0x30 + rest;
    bytes[end++] = 0x2c;
  }
  sink.end = end;
}

function appendComma(sink: GrowableBytes, at: number): void {
  sink.bytes[at] = 0x2c;
  sink.end = at + 1;
}

/** Reads 32-bit halves: most 64-bit integers are small, and a bigint for each would be garbage. */
function appendIntegers64(sink: GrowableBytes, data: Uint8Array, isSigned: boolean): void {
  const halves = elementsOf({ datatype: 'UINT32', data });
  for (let index = 0; index < halves.length; index += 2) {
    const lower = halves[index] as number;
    const upperUnsigned = halves[index + 1] as number;
    const upper = isSigned ? upperUnsigned | 0 : upperUnsigned;
    sink.reserve(numberCharactersReserved);
    // Between -2^53 and 2^53 the sum is exact.
    if (upper >= -0x20_0000 && upper < 0x20_0000) {
      appendComma(sink, writeInteger(sink.bytes, sink.end, upper * 0x1_0000_0000 + lower));
    } else appendAscii(sink, `${(BigInt(upper) << 32n) | BigInt(lower)},`);
  }
}

function appendTexts(sink: GrowableBytes, tensor: Tensor): void {
  const cursor = new BytesCursor(tensor.data);
  for (let element = 0; cursor.next(); element += 1) {
    if (!appendQuotedUtf8(sink, cursor.data, cursor.offset, cursor.offset + cursor.length)) {
      throw notUtf8(tensor, element);
    }
    appendByte(sink, 0x2c);
  }
}

function* appendTextSteps(sink: GrowableBytes, tensor: Tensor): Generator<void, void> {
  const { data } = tensor;
  const cursor = new BytesCursor(data);
  let stepStart = 0;
  for (let element = 0; cursor.next(); element += 1) {
    // Empty elements have a prefix, which counts too.
    if (cursor.offset - stepStart >= stepTextBytes) {
      yield;
      stepStart = cursor.offset;
    }
    appendByte(sink, 0x22);
    const end = cursor.offset + cursor.length;
    for (let from = cursor.offset; from < end; ) {
      if (from - stepStart >= stepTextBytes) {
        yield;
        stepStart = from;
      }
      const to = characterStart(data, Math.min(end, from + stepTextBytes), from, end);
      if (!appendEscapedUtf8(sink, data, from, to)) throw notUtf8(tensor, element);
      from = to;
    }
    appendByte(sink, 0x22);
    appendByte(sink, 0x2c);
  }
}

/** The last position up to `at` where a character may begin; `at` itself where that is not within four bytes. */
function characterStart(data: Uint8Array, at: number, from: number, end: number): number {
  if (at === end) return at;
  for (let position = at; position > at - 4 && position > from; position -= 1) {
    if (((data[position] as number) & 0xc0) !== 0x80) return position;
  }
  return at;
}

function appendByte(sink: GrowableBytes, byte: number): void {
  sink.reserve(1);
  sink.bytes[sink.end++] = byte;
}

function notUtf8({ name }: Tensor, element: number): InferenceError {
  return new InferenceError(
    'invalid-request',
    `element ${element} of output ${quote(name)} is not valid UTF-8 and cannot be written as JSON; ` +
      `request this output with the parameter binary_data: true`,
  );
}
