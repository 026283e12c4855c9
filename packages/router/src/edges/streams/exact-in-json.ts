import { isUtf8 } from 'node:buffer';
import { BytesCursor, type Datatype, elementsOf, type Tensor } from '@millrace/protocol';
import { doAtOnce, type SliceGenerator } from '../slices/slice-queue.ts';

/** Bytes of elements that are looked at between two pauses; a multiple of every element's size. */
const stepBytes = 1024 * 1024;

/**
 * Whether every element has an exact form in JSON that every parser reads: NaN and the infinities have none, nor have
 * integers from 2^53 on, nor bytes that are not UTF-8.
 */
export function* isExactInJson({ datatype, data }: Tensor): SliceGenerator<boolean> {
  if (datatype === 'BYTES') return yield* areTexts(data);
  for (let from = 0; from < data.length; from += stepBytes) {
    if (from > 0) yield;
    if (!areExact(datatype, data.subarray(from, from + stepBytes))) return false;
  }
  return true;
}

/** The same without pauses, for a tensor that is known to be small. */
export function isSmallExactInJson(tensor: Tensor): boolean {
  return tensor.datatype === 'BYTES' ? doAtOnce(areTexts(tensor.data)) : areExact(tensor.datatype, tensor.data);
}

function areExact(datatype: Datatype, data: Uint8Array): boolean {
  switch (datatype) {
    case 'FP32':
    case 'FP64':
      return elementsOf({ datatype, data }).every((element) => Number.isFinite(element));
    // All bits of the exponent are set in NaN and the infinities.
    case 'FP16':
      return elementsOf({ datatype, data }).every((bits) => (bits & 0x7c00) !== 0x7c00);
    case 'BF16':
      return elementsOf({ datatype, data }).every((bits) => (bits & 0x7f80) !== 0x7f80);
    case 'INT64':
    case 'UINT64': {
      const halves = elementsOf({ datatype: 'UINT32', data });
      for (let index = 1; index < halves.length; index += 2) {
        const upper = datatype === 'INT64' ? (halves[index] as number) | 0 : (halves[index] as number);
        // -2^53 itself is taken for inexact, as JavaScript does.
        if (upper >= 0x20_0000 || upper < -0x20_0000 || (upper === -0x20_0000 && halves[index - 1] === 0)) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

function* areTexts(data: Uint8Array): SliceGenerator<boolean> {
  const cursor = new BytesCursor(data);
  let stepStart = 0;
  while (cursor.next()) {
    const end = cursor.offset + cursor.length;
    if (!isUtf8(data.subarray(cursor.offset, end))) return false;
    if (end - stepStart < stepBytes) continue;
    stepStart = end;
    yield;
  }
  return true;
}
