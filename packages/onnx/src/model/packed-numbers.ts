import { OnnxFileError } from '../onnx-file-error.ts';

/** The numbers of a packed repeated field. */
export function numbersFrom(bytes: Uint8Array, kind: 'float' | 'double' | 'varint'): readonly number[] {
  if (kind === 'varint') return varintsFrom(bytes);
  const size = kind === 'float' ? 4 : 8;
  if (bytes.length % size !== 0) throw new OnnxFileError('a packed field ends in the middle of a number');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / size }, (_, index) =>
    kind === 'float' ? view.getFloat32(index * size, true) : view.getFloat64(index * size, true),
  );
}

export function varintsFrom(bytes: Uint8Array): readonly number[] {
  const numbers: number[] = [];
  let value = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) {
      if (shift > 63n) throw new OnnxFileError('a packed field has a number of more than ten bytes');
      continue;
    }
    numbers.push(safeInteger(BigInt.asIntN(64, value)));
    value = 0n;
    shift = 0n;
  }
  if (shift !== 0n) throw new OnnxFileError('a packed field ends in the middle of a number');
  return numbers;
}

/** The nearest exact number: the largest integers mean "to the end", and no size is that large. */
export function safeInteger(value: bigint): number {
  if (value > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER;
  return value < Number.MIN_SAFE_INTEGER ? Number.MIN_SAFE_INTEGER : Number(value);
}
