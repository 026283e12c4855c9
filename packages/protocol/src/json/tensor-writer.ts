/** Writes the elements of a tensor as a flat JSON array. */
import { BytesCursor } from '../bytes-elements.ts';
import { elementsOf } from '../elements.ts';
import { InferenceError } from '../errors.ts';
import { numberFromBf16, numberFromFp16 } from '../float16.ts';
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
import { appendAscii, appendQuotedUtf8 } from './write-string.ts';
import type { JsonWriter } from './writer.ts';

/**
 * Writes `[…]`, row-major and flat, where a value is due. The tensor must be well-formed (`tensorProblem` found nothing).
 * Throws an `InferenceError` for BYTES that are not UTF-8: JSON cannot carry them.
 */
export function writeTensorData(writer: JsonWriter, tensor: Tensor): void {
  writer.beginValue();
  const { sink } = writer;
  sink.reserve(1);
  sink.bytes[sink.end++] = 0x5b;
  const contentStart = sink.end - sink.start;
  appendElements(sink, tensor);
  // Every element wrote a comma behind it; the last one becomes the bracket.
  sink.reserve(1);
  if (sink.end - sink.start > contentStart) sink.end -= 1;
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

function appendComma(sink: GrowableBytes, at: number): void {
  sink.bytes[at] = 0x2c;
  sink.end = at + 1;
}

/** Reads halves of 32 bits: most 64-bit integers are small, and a bigint each would be garbage. */
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
      throw new InferenceError(
        'invalid-request',
        `element ${element} of output '${tensor.name}' is not valid UTF-8 and cannot be written as JSON; ` +
          `request this output with the parameter binary_data: true`,
      );
    }
    sink.reserve(1);
    sink.bytes[sink.end++] = 0x2c;
  }
}
