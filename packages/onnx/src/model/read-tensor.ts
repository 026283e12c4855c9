import { OnnxFileError } from '../onnx-file-error.ts';
import { dimensionsMax, nameBytesMax } from '../read-value-info.ts';
import type { WireField, WireReader } from '../wire-reader.ts';
import type { StoredTensor } from './model-proto.ts';
import { numbersFrom, safeInteger, varintsFrom } from './packed-numbers.ts';

/** Bytes of one value, at most. */
const valueBytesMax = 16;

/** How a value is read, for ONNX's element types whose raw bytes are plain numbers. */
const rawReaders: ReadonlyMap<number, { readonly bytes: number; read(view: DataView, at: number): number }> = new Map([
  [1, { bytes: 4, read: (view: DataView, at: number) => view.getFloat32(at, true) }],
  [2, { bytes: 1, read: (view: DataView, at: number) => view.getUint8(at) }],
  [3, { bytes: 1, read: (view: DataView, at: number) => view.getInt8(at) }],
  [4, { bytes: 2, read: (view: DataView, at: number) => view.getUint16(at, true) }],
  [5, { bytes: 2, read: (view: DataView, at: number) => view.getInt16(at, true) }],
  [6, { bytes: 4, read: (view: DataView, at: number) => view.getInt32(at, true) }],
  [7, { bytes: 8, read: (view: DataView, at: number) => safeInteger(view.getBigInt64(at, true)) }],
  [9, { bytes: 1, read: (view: DataView, at: number) => view.getUint8(at) }],
  [11, { bytes: 8, read: (view: DataView, at: number) => view.getFloat64(at, true) }],
  [12, { bytes: 4, read: (view: DataView, at: number) => view.getUint32(at, true) }],
  [13, { bytes: 8, read: (view: DataView, at: number) => safeInteger(view.getBigUint64(at, true)) }],
]);

/** Reads a TensorProto. Values are kept when there are at most `valuesMax` and they are in the file itself. */
export async function readStoredTensor(
  reader: WireReader,
  holder: WireField,
  valuesMax: number,
): Promise<StoredTensor> {
  let name = '';
  let elementType = 0;
  const shape: number[] = [];
  const values: number[] = [];
  let raw: Uint8Array | undefined;
  let isElsewhere = false;
  let isTooLong = false;
  const packed = async (field: WireField, kind: 'float' | 'double' | 'varint'): Promise<void> => {
    if (field.end - field.start > valuesMax * valueBytesMax) {
      isTooLong = true;
      return;
    }
    values.push(...numbersFrom(await reader.readBytes(field, valuesMax * valueBytesMax, 'values of a tensor'), kind));
  };
  await reader.forEachField(holder.start, holder.end, (field) => {
    if (!field.isDelimited) {
      if (field.number === 1) addDimension(shape, Number(BigInt.asIntN(64, field.value)), holder);
      else if (field.number === 2) elementType = Number(field.value);
      else if (field.number === 14) isElsewhere ||= field.value !== 0n;
      // Repeated numbers may be written one by one.
      else if (field.number === 5 || field.number === 7 || field.number === 11) {
        if (values.length < valuesMax) values.push(safeInteger(BigInt.asIntN(64, field.value)));
        else isTooLong = true;
      } else if (field.number === 4 || field.number === 10) isTooLong = true;
      return undefined;
    }
    switch (field.number) {
      case 1:
        return reader.readBytes(field, dimensionsMax * 10, 'the shape of a tensor').then((bytes) => {
          for (const size of varintsFrom(bytes)) addDimension(shape, size, holder);
        });
      case 4:
        return packed(field, 'float');
      case 5:
      case 7:
      case 11:
        return packed(field, 'varint');
      case 10:
        return packed(field, 'double');
      case 8:
        return reader.readString(field, nameBytesMax, 'the name of a tensor').then((read) => {
          name = read;
        });
      case 9:
        if (field.end - field.start > valuesMax * 8) {
          isTooLong = true;
          return undefined;
        }
        return reader.readBytes(field, valuesMax * 8, 'values of a tensor').then((bytes) => {
          raw = bytes;
        });
      default:
        return undefined;
    }
  });
  const count = shape.reduce((product, size) => product * size, 1);
  const found = raw === undefined ? values : rawValues(raw, elementType);
  const areKnown = !isElsewhere && !isTooLong && count <= valuesMax && found?.length === count;
  return { name, elementType, shape, values: areKnown && rawReaders.has(elementType) ? found : undefined };
}

function addDimension(shape: number[], size: number, holder: WireField): void {
  if (shape.length === dimensionsMax || !Number.isSafeInteger(size) || size < 0) {
    throw new OnnxFileError(`the tensor at byte ${holder.start} has an impossible shape`);
  }
  shape.push(size);
}

function rawValues(bytes: Uint8Array, elementType: number): readonly number[] | undefined {
  const reader = rawReaders.get(elementType);
  if (reader === undefined || bytes.length % reader.bytes !== 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / reader.bytes }, (_, index) => reader.read(view, index * reader.bytes));
}
