/** Einsum: sums of products whose axes are named by letters. */
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import { one, type Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, unknown, type Value } from '../value.ts';

/** Stands for the axes of an ellipsis, the last one first, since they are aligned there. */
function hiddenLabel(fromEnd: number): string {
  return `...${fromEnd}`;
}

interface Operand {
  readonly value: Value;
  readonly labels: readonly string[];
}

export const einsum: Transfer = (call) => {
  mustNotCount(call.given);
  const [left, right] = call.text('equation', '').replaceAll(' ', '').split('->');
  const terms = (left ?? '').split(',');
  if (terms.length !== call.given.length) throw unknown('the equation does not fit the inputs');
  const operands = call.given.map(
    (value, index): Operand => ({ value, labels: labelsOf(terms[index] as string, value) }),
  );
  const hidden = Math.max(0, ...operands.map(({ labels }) => labels.filter((label) => label.startsWith('...')).length));
  const result = right === undefined ? impliedLabels(operands, hidden) : expanded(right, hidden);
  const sizes = sizesOf(operands);
  const shape = result.map((label) => sizes.get(label) ?? one);
  const batch = batchLabelOf(operands);
  if (batch === undefined) return plain(shape);
  const axis = result.indexOf(batch);
  if (axis === -1) throw mixed('it sums over the batch axis');
  if (result.indexOf(batch, axis + 1) !== -1) throw unknown('the equation names an axis of the result twice');
  return rows(shape, axis);
};

function labelsOf(term: string, value: Value): readonly string[] {
  const rank = mustHaveDims(value).length;
  const letters = term.replace('...', '').length;
  const labels = expanded(term, term.includes('...') ? rank - letters : 0);
  if (labels.length !== rank) throw unknown('the equation does not fit the inputs');
  return labels;
}

function expanded(term: string, hidden: number): readonly string[] {
  const [before, after] = term.split('...');
  if (after === undefined) return [...(before ?? '')];
  return [...(before ?? ''), ...Array.from({ length: hidden }, (_, index) => hiddenLabel(hidden - index)), ...after];
}

/** Without an arrow: the axes of ellipses, then every letter that occurs once, in the order of the alphabet. */
function impliedLabels(operands: readonly Operand[], hidden: number): readonly string[] {
  const letters = operands.flatMap(({ labels }) => labels.filter((label) => !label.startsWith('...')));
  const single = letters.filter((letter) => letters.indexOf(letter) === letters.lastIndexOf(letter));
  return [...expanded('...', hidden), ...single.sort((a, b) => (a < b ? -1 : 1))];
}

function sizesOf(operands: readonly Operand[]): ReadonlyMap<string, Size> {
  const sizes = new Map<string, Size>();
  for (const { value, labels } of operands) {
    for (const [axis, label] of labels.entries()) {
      const known = sizes.get(label);
      if (known === undefined || known.is(1)) sizes.set(label, mustHaveDims(value)[axis] as Size);
    }
  }
  return sizes;
}

/** The label of the batch axis of all inputs with rows; undefined: none has rows. */
function batchLabelOf(operands: readonly Operand[]): string | undefined {
  const withRows = operands.flatMap(({ value, labels }) => (isRows(value) ? [{ value, labels }] : []));
  const [first] = withRows;
  if (first === undefined) return undefined;
  const batch = first.labels[first.value.axis] as string;
  for (const { value, labels } of withRows) {
    if (labels[value.axis] !== batch) throw mixed('every row meets every other in the product');
    if (labels.filter((label) => label === batch).length > 1) throw mixed('it takes a diagonal over the batch axis');
    const isSame = (value.dims[value.axis] as Size).equals(first.value.dims[first.value.axis] as Size);
    if (!isSame) throw unknown('its inputs have different numbers of elements for each row');
  }
  for (const { value, labels } of operands) {
    if (isRows(value)) continue;
    const axis = labels.indexOf(batch);
    if (axis !== -1 && mustHaveDims(value)[axis]?.is(1) !== true)
      throw mixed('a tensor of fixed size meets the batch axis');
  }
  return batch;
}
