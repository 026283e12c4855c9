/** The classification extension: the greatest elements of an output by name, as `value:index[:label]`. */
import {
  type Datatype,
  elementCount,
  elementsOf,
  encodeBytesElements,
  InferenceError,
  quote,
  type Tensor,
} from '@millrace/protocol';
import type { ModelView } from '../../model/model-view.ts';
import type { SliceGenerator } from '../slices/slice-queue.ts';
import type { AnswerForm } from './answer-form.ts';
import { textFromElement } from './c-number-text.ts';
import { topIndices } from './top-indices.ts';

const refused: ReadonlySet<Datatype> = new Set(['BOOL', 'BYTES', 'FP16', 'BF16']);

export function isClassifying(form: AnswerForm): boolean {
  for (const { classes } of form.listed.values()) if (classes > 0) return true;
  return false;
}

/** Refuses outputs that cannot be classified, before anything runs. */
export function checkClassification(form: AnswerForm, view: ModelView): void {
  for (const { name, datatype } of view.outputs) {
    if ((form.listed.get(name)?.classes ?? 0) > 0) refuseDatatype(name, datatype);
  }
}

/** Outputs of more bytes are classified in slices. */
export const classifiedAtOnceBytesMax = 16 * 1024;

export interface ClassificationLimits {
  /** Elements of an output that classification may scan. */
  readonly classificationElementsMax: number;
  /** Classes that are named for an output, of all its rows together. */
  readonly classificationResultsMax: number;
}

/** Elements of short rows that are scanned, and texts that are made, between two pauses. */
const elementsPerSlice = 16 * 1024;
const textsPerSlice = 2048;

/**
 * A BYTES tensor with the `classes` greatest of every batch row, or of the whole output where there are no rows. In slices,
 * because both the elements and the classes may be many.
 */
export function* classify(
  output: Tensor,
  classes: number,
  view: ModelView,
  limits: ClassificationLimits,
): SliceGenerator<Tensor> {
  const { name, datatype, shape } = output;
  refuseDatatype(name, datatype);
  const count = elementCount(shape);
  const { classificationElementsMax, classificationResultsMax } = limits;
  if (count > classificationElementsMax) {
    throw tooLarge(
      `output ${quote(name)} has ${count} elements, more than the ${classificationElementsMax} that classification accepts`,
    );
  }
  const rows = view.isBatched ? (shape[0] ?? 1) : 1;
  const perRow = rows === 0 ? 0 : count / rows;
  const taken = Math.min(classes, perRow);
  if (rows * taken > classificationResultsMax) {
    throw tooLarge(
      `${taken} classes of ${rows} rows of output ${quote(name)} are more than the ${classificationResultsMax} results that classification gives; ask for fewer classes`,
    );
  }
  const labels = view.labels.get(name);
  const isFloat = datatype === 'FP32' || datatype === 'FP64';
  const values = elementsOf(output) as ArrayLike<number | bigint>;
  const encoded: Uint8Array[] = [];
  let texts: string[] = [];
  let scanned = 0;
  // Rows without elements name nothing, and there is no limit on how many of them a shape has.
  const rowsNamed = taken === 0 ? 0 : rows;
  for (let row = 0; row < rowsNamed; row++) {
    const first = row * perRow;
    scanned += perRow;
    if (scanned >= elementsPerSlice) {
      scanned = 0;
      yield;
    }
    for (const index of yield* topIndices(values, first, first + perRow, taken)) {
      const text = `${textFromElement(values[index] as number | bigint, isFloat)}:${index - first}`;
      const label = labels?.[index - first];
      texts.push(label === undefined ? text : `${text}:${label}`);
      if (texts.length < textsPerSlice) continue;
      encoded.push(encodeBytesElements(texts));
      texts = [];
      yield;
    }
  }
  encoded.push(encodeBytesElements(texts));
  const classShape = view.isBatched ? [rows, taken] : [taken];
  const data = encoded.length === 1 ? (encoded[0] as Uint8Array) : Buffer.concat(encoded);
  return { name, datatype: 'BYTES', shape: classShape, data };
}

function tooLarge(problem: string): InferenceError {
  return new InferenceError('request-too-large', `${problem}; request the tensor itself`);
}

function refuseDatatype(name: string, datatype: Datatype): void {
  if (!refused.has(datatype)) return;
  throw new InferenceError(
    'invalid-request',
    `class result not available for output ${quote(name)} due to unsupported type '${datatype}'; request the tensor itself`,
  );
}
