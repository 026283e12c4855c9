/** Generates the inputs that describe the shapes of a batch's requests to the model, under Triton's names. */
import { elementCount, formatShape, quote, type Tensor } from '@millrace/protocol';
import type { BatchShaping, GeneratedInput } from '../../model/batch-shaping.ts';
import type { BatchPart } from '../batch-layout.ts';
import { fillSlices } from './copy-corner.ts';

/** Without its data, which `write` makes in slices. */
export interface GeneratedTensor {
  readonly shape: readonly number[];
  readonly bytes: number;
  write(target: Uint8Array): Generator<void, void>;
}

/**
 * Most bytes of a generated input for one run of a request. What it takes does not follow from the bytes of the request: rows without
 * elements take none, and a byte of the request may be counted in eight.
 */
export const generatedBytesMax: number = 64 * 1024 * 1024;

/** Elements that are written between two pauses. */
const elementsPerSlice = 64 * 1024;

const elementBytes = { INT32: 4, INT64: 8, FP32: 4 } as const;

type Shapes = readonly (readonly number[])[];

/** Why nothing can be generated for a request that runs as it is; undefined: it can. */
export function generatedProblem(
  inputs: readonly (Tensor | undefined)[],
  { generated }: BatchShaping,
  model: string,
): string | undefined {
  for (const { kind, datatype, source } of generated) {
    const { name, shape } = inputs[source] as Tensor;
    const bytes = countOf(kind, [shape]) * elementBytes[datatype];
    if (bytes <= generatedBytesMax) continue;
    return (
      `input ${quote(name)} has shape ${formatShape(shape)}, for which the ${kind} of model ${quote(model)} would have ${bytes} bytes, ` +
      `more than ${generatedBytesMax} (generatedBytesMax); send fewer or smaller rows`
    );
  }
  return undefined;
}

export function generatedTensor(
  { kind, datatype, source }: GeneratedInput,
  requests: readonly BatchPart[],
): GeneratedTensor {
  const shapes = requests.map(({ inputs }) => (inputs[source] as Tensor).shape);
  const count = countOf(kind, shapes);
  const bytes = count * elementBytes[datatype];
  switch (kind) {
    case 'BATCH_ELEMENT_COUNT':
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT':
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO':
      return { shape: [count], bytes, write: (target) => writeSlices(datatype, countsOf(kind, shapes), target) };
    case 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE':
      // Only its length carries information; the content is ignored.
      return { shape: [count], bytes, write: (target) => fillSlices(target, zero) };
    case 'BATCH_ITEM_SHAPE':
    case 'BATCH_ITEM_SHAPE_FLATTEN': {
      const shape = kind === 'BATCH_ITEM_SHAPE' ? [rowsOf(shapes), axesOf(shapes)] : [count];
      return { shape, bytes, write: (target) => writeSlices(datatype, rowShapesOf(shapes), target) };
    }
  }
}

const zero = Uint8Array.of(0);

function countOf(kind: GeneratedInput['kind'], shapes: Shapes): number {
  switch (kind) {
    case 'BATCH_ELEMENT_COUNT':
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT':
      return shapes.length;
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO':
      return shapes.length + 1;
    case 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE':
      return shapes.reduce((most, shape) => Math.max(most, elementCount(shape)), 0);
    case 'BATCH_ITEM_SHAPE':
    case 'BATCH_ITEM_SHAPE_FLATTEN':
      return rowsOf(shapes) * axesOf(shapes);
  }
}

function rowsOf(shapes: Shapes): number {
  return shapes.reduce((rows, shape) => rows + (shape[0] ?? 0), 0);
}

/** Of a row. */
function axesOf(shapes: Shapes): number {
  return (shapes[0]?.length ?? 1) - 1;
}

function countsOf(kind: GeneratedInput['kind'], shapes: Shapes): readonly number[] {
  if (kind === 'BATCH_ELEMENT_COUNT') return shapes.map(elementCount);
  // The running total: 0, and then the value after each request.
  const counts = [0];
  for (const shape of shapes) counts.push((counts.at(-1) as number) + elementCount(shape));
  return kind === 'BATCH_ACCUMULATED_ELEMENT_COUNT' ? counts.slice(1) : counts;
}

/** The sizes of each row, one row after the other. */
function* rowShapesOf(shapes: Shapes): Generator<number, void> {
  for (const [rows = 0, ...row] of shapes) for (let index = 0; index < rows; index++) yield* row;
}

function* writeSlices(
  datatype: GeneratedInput['datatype'],
  values: Iterable<number>,
  target: Uint8Array,
): Generator<void, void> {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  let index = 0;
  for (const value of values) {
    if (datatype === 'INT64') view.setBigInt64(8 * index, BigInt(value), true);
    else if (datatype === 'INT32') view.setInt32(4 * index, value, true);
    else view.setFloat32(4 * index, value, true);
    index += 1;
    if (index % elementsPerSlice === 0) yield;
  }
}
