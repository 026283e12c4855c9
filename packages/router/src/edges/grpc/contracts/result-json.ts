/** Outputs as one JSON object: by name, and under `probabilities` by label where the model has labels. */
import { isUtf8 } from 'node:buffer';
import {
  type Datatype,
  datatypes,
  elementCount,
  InferenceError,
  JsonWriter,
  type Tensor,
  takeBytesElements,
  writeTensorData,
} from '@millrace/protocol';
import type { ModelView } from '../../../model/model-view.ts';
import type { SliceGenerator } from '../../slices/slice-queue.ts';

/** What the names of outputs mean. */
export type ResultView = Pick<ModelView, 'isBatched' | 'labels'>;

/** Elements of all outputs of an answer together: beyond, tensors are far shorter than JSON. */
export const resultElementsMax: number = 256 * 1024;
/** Bytes of all outputs of an answer together. */
export const resultBytesMax: number = 16 * 1024 * 1024;
/** Outputs of fewer bytes are written at once. */
const atOnceBytesMax = 16 * 1024;
const elementsPerSlice = 2048;

const floats: ReadonlySet<Datatype> = new Set(['FP16', 'BF16', 'FP32', 'FP64']);

/** The key under which values stand by their labels. */
const labelledKey = 'probabilities';

export function isLongResult(outputs: readonly Tensor[]): boolean {
  return bytesOf(outputs) > atOnceBytesMax;
}

/** `more`: members behind the outputs, as texts of JSON. Throws `request-too-large` for what does not belong in JSON. */
export function* resultJsonOf(
  outputs: readonly Tensor[],
  view: ResultView,
  more: Readonly<Record<string, string>> = {},
): SliceGenerator<string> {
  checkSize(outputs);
  const members = new Map<string, string>();
  const labelled = new Map<string, string>();
  for (const output of outputs) {
    const cells = yield* cellsOf(output);
    members.set(output.name, nested(cells, rowShapeOf(output, view)));
    const labels = view.labels.get(output.name);
    if (labels !== undefined && floats.has(output.datatype)) {
      labelled.set(output.name, labelledRows(cells, rowsOf(output, view), labels));
    }
    yield;
  }
  const [only] = labelled.values();
  // An output of that name that has no labels stays what it is.
  if (only !== undefined && (labelled.has(labelledKey) || !members.has(labelledKey))) {
    members.set(labelledKey, labelled.size === 1 ? only : objectOf(labelled));
  }
  for (const [key, value] of Object.entries(more)) members.set(key, value);
  return objectOf(members);
}

function objectOf(members: ReadonlyMap<string, string>): string {
  return `{${[...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}

function bytesOf(outputs: readonly Tensor[]): number {
  return outputs.reduce((sum, { data }) => sum + data.byteLength, 0);
}

function checkSize(outputs: readonly Tensor[]): void {
  const bytes = bytesOf(outputs);
  const elements = outputs.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  if (bytes <= resultBytesMax && elements <= resultElementsMax) return;
  throw new InferenceError(
    'request-too-large',
    `the outputs have ${elements} elements and ${bytes} bytes, more than the ${resultElementsMax} elements or ${resultBytesMax} bytes that go into JSON; send fewer rows, or call ModelInfer of inference.GRPCInferenceService`,
  );
}

/** The JSON text of every element. */
function* cellsOf(tensor: Tensor): SliceGenerator<string[]> {
  const { datatype, data } = tensor;
  if (datatype === 'BYTES') return (takeBytesElements(data) ?? []).map(textCell);
  const sliceBytes = elementsPerSlice * datatypes[datatype].bytes;
  const cells: string[] = [];
  for (let from = 0; from < data.length; from += sliceBytes) {
    if (from > 0) yield;
    const writer = new JsonWriter();
    writeTensorData(writer, { ...tensor, data: data.subarray(from, from + sliceBytes) });
    const list = Buffer.from(writer.take()).toString('latin1', 1).slice(0, -1);
    for (const cell of list.split(',')) cells.push(cell);
  }
  return floats.has(datatype) ? cells.map(finiteCell) : cells;
}

/** JSON has no such numbers: as texts, which protobuf's JSON uses too. */
function finiteCell(cell: string): string {
  return cell.endsWith('N') || cell.endsWith('y') ? `"${cell}"` : cell;
}

function textCell(element: Uint8Array): string {
  const bytes = Buffer.from(element.buffer, element.byteOffset, element.byteLength);
  if (isUtf8(bytes)) return JSON.stringify(bytes.toString());
  return `{"b64":"${bytes.toString('base64')}"}`;
}

function rowsOf({ shape }: Tensor, { isBatched }: ResultView): number {
  return isBatched ? (shape[0] ?? 1) : 1;
}

/** The shape without the batch where it has one row. */
function rowShapeOf({ shape }: Tensor, { isBatched }: ResultView): readonly number[] {
  return isBatched && shape[0] === 1 ? shape.slice(1) : shape;
}

/** Lists in lists, as the shape says; a single element is itself, and no elements are an empty list. */
function nested(cells: readonly string[], shape: readonly number[]): string {
  const [first] = cells;
  if (first === undefined) return '[]';
  if (cells.length === 1) return first;
  let groups = cells;
  for (const size of shape.toReversed()) {
    const count = groups.length / size;
    const lists: string[] = [];
    for (let index = 0; index < count; index += 1) {
      lists.push(`[${groups.slice(index * size, (index + 1) * size).join(',')}]`);
    }
    groups = lists;
  }
  return groups[0] as string;
}

/** One object for one row, otherwise a list of them; no elements are an empty list, as a shape may have any number of empty rows. */
function labelledRows(cells: readonly string[], rows: number, labels: readonly string[]): string {
  if (cells.length === 0 && rows !== 1) return '[]';
  const perRow = rows === 0 ? 0 : cells.length / rows;
  const objects = Array.from({ length: rows }, (_, row) => {
    const members = new Map<string, string>();
    for (let index = 0; index < perRow; index += 1) {
      const label = labels[index] ?? String(index);
      members.set(members.has(label) ? `${label}#${index}` : label, cells[row * perRow + index] as string);
    }
    return objectOf(members);
  });
  return rows === 1 ? (objects[0] as string) : `[${objects.join(',')}]`;
}
