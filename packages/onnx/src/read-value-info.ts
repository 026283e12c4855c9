import { OnnxFileError } from './onnx-file-error.ts';
import type { OnnxDimension, OnnxTensor } from './onnx-graph.ts';
import type { WireField, WireReader } from './wire-reader.ts';

export const nameBytesMax = 16 * 1024;
export const dimensionsMax = 64;

const kinds: Readonly<Record<number, OnnxTensor['kind']>> = {
  1: 'tensor',
  4: 'sequence',
  5: 'map',
  8: 'sparse-tensor',
  9: 'optional',
};

/** One input or output: its name, element type and shape. */
export async function readValueInfo(reader: WireReader, holder: WireField): Promise<OnnxTensor> {
  let name = '';
  let kind: OnnxTensor['kind'] = 'unknown';
  let elementType = 0;
  let shape: readonly OnnxDimension[] | undefined;
  await forEachDelimited(reader, holder, async (field) => {
    if (field.number === 1) name = await reader.readString(field, nameBytesMax, 'the name of an input or output');
    if (field.number !== 2) return;
    await forEachDelimited(reader, field, async (type) => {
      kind = kinds[type.number] ?? kind;
      if (kind !== 'tensor') return;
      await reader.forEachField(type.start, type.end, (part) => {
        if (part.number === 1 && !part.isDelimited) elementType = Number(BigInt.asIntN(32, part.value));
        if (part.number !== 2 || !part.isDelimited) return undefined;
        return readShape(reader, part).then((read) => {
          shape = read;
        });
      });
    });
  });
  if (name === '') throw new OnnxFileError(`the input or output at byte ${holder.start} has no name`);
  return { name, kind, elementType, shape };
}

async function readShape(reader: WireReader, holder: WireField): Promise<readonly OnnxDimension[]> {
  const shape: OnnxDimension[] = [];
  await forEachDelimited(reader, holder, async (field) => {
    if (field.number !== 1) return;
    if (shape.length === dimensionsMax) {
      throw new OnnxFileError(`the shape at byte ${holder.start} has more than ${dimensionsMax} dimensions`);
    }
    let dimension: OnnxDimension = '';
    await reader.forEachField(field.start, field.end, (part) => {
      if (part.number === 1 && !part.isDelimited) {
        const size = BigInt.asIntN(64, part.value);
        // Some exporters write -1 (or 0) for a size they do not know.
        dimension = size > 0n && size <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(size) : '';
      }
      if (part.number !== 2 || !part.isDelimited) return undefined;
      return reader.readString(part, nameBytesMax, 'the name of a dimension').then((read) => {
        dimension = read;
      });
    });
    shape.push(dimension);
  });
  return shape;
}

/** Visits only the length-delimited fields; the caller ignores the others. */
export function forEachDelimited(
  reader: WireReader,
  holder: { readonly start: number; readonly end: number },
  visit: (field: WireField) => Promise<void>,
): Promise<void> {
  return reader.forEachField(holder.start, holder.end, (field) => (field.isDelimited ? visit(field) : undefined));
}
