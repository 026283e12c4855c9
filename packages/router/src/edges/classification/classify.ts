/** The classification extension: the greatest elements of an output by name, as `value:index[:label]`. */
import {
  type Datatype,
  elementCount,
  elementsOf,
  encodeBytesElements,
  InferenceError,
  type Tensor,
} from '@millrace/protocol';
import type { ModelView } from '../../registry/catalogue.ts';
import type { AnswerForm } from './answer-form.ts';
import { textFromElement } from './c-number-text.ts';
import { topIndices } from './top-indices.ts';

const refused: ReadonlySet<Datatype> = new Set(['BOOL', 'BYTES', 'FP16', 'BF16']);

export function isClassifying(form: AnswerForm): boolean {
  for (const { classes } of form.listed.values()) if (classes > 0) return true;
  return false;
}

/** Refuses, before anything runs, what could not be classified afterwards. */
export function checkClassification(form: AnswerForm, view: ModelView): void {
  for (const { name, datatype } of view.outputs) {
    if ((form.listed.get(name)?.classes ?? 0) > 0) refuseDatatype(name, datatype);
  }
}

/** A BYTES tensor with the `classes` greatest of every batch row, or of the whole output where there are no rows. */
export function classify(output: Tensor, classes: number, view: ModelView, elementsMax: number): Tensor {
  const { name, datatype, shape } = output;
  refuseDatatype(name, datatype);
  const count = elementCount(shape);
  if (count > elementsMax) {
    throw new InferenceError(
      'request-too-large',
      `output '${name}' has ${count} elements, and classification takes at most ${elementsMax}; request the tensor itself`,
    );
  }
  const rows = view.isBatched ? (shape[0] ?? 1) : 1;
  const perRow = rows === 0 ? 0 : count / rows;
  const taken = Math.min(classes, perRow);
  const labels = view.labels.get(name);
  const isFloat = datatype === 'FP32' || datatype === 'FP64';
  const values = elementsOf(output) as ArrayLike<number | bigint>;
  const texts: string[] = [];
  for (let row = 0; row < rows; row++) {
    const first = row * perRow;
    for (const index of topIndices(values, first, first + perRow, taken)) {
      const text = `${textFromElement(values[index] as number | bigint, isFloat)}:${index - first}`;
      const label = labels?.[index - first];
      texts.push(label === undefined ? text : `${text}:${label}`);
    }
  }
  const classShape = view.isBatched ? [rows, taken] : [taken];
  return { name, datatype: 'BYTES', shape: classShape, data: encodeBytesElements(texts) };
}

function refuseDatatype(name: string, datatype: Datatype): void {
  if (!refused.has(datatype)) return;
  throw new InferenceError(
    'invalid-request',
    `class result not available for output '${name}' due to unsupported type '${datatype}'; request the tensor itself`,
  );
}
