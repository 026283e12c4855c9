/** Lists of tensors whose length is known while the graph is followed. */
import { axisFrom, isRows, withItem, withoutAxis } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import { OperatorCall, type Transfer } from '../call.ts';
import { constantsOf, mustBeConstants } from '../contents.ts';
import { one, Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, type SequenceValue, unknown, type Value } from '../value.ts';
import { concat } from './movement.ts';

/** Elements of a list that is followed. */
const elementsMax = 256;

function sequence(elements: readonly Value[]): SequenceValue {
  if (elements.length > elementsMax) throw unknown(`a list has more than ${elementsMax} tensors`);
  return { kind: 'sequence', elements };
}

export const construct: Transfer = (call) => sequence(call.given);
export const empty: Transfer = () => sequence([]);

/** A position that is a constant, counted back from `length` if negative; `last` is the last one allowed. */
function positionOf(value: Value, length: number, last = length - 1): number {
  const [position] = mustBeConstants(value, 'a position in a list');
  if (position === undefined) throw unknown('a position in a list is not known');
  const positive = position < 0 ? position + length : position;
  if (positive < 0 || positive > last) throw unknown(`position ${position} is outside of the list`);
  return positive;
}

export const at: Transfer = (call) => {
  const { elements } = call.sequence(0);
  return elements[positionOf(call.input(1), elements.length)] as Value;
};

export const insert: Transfer = (call) => {
  const { elements } = call.sequence(0);
  const position =
    call.inputs[2] === undefined ? elements.length : positionOf(call.input(2), elements.length, elements.length);
  return sequence([...elements.slice(0, position), call.input(1), ...elements.slice(position)]);
};

export const erase: Transfer = (call) => {
  const { elements } = call.sequence(0);
  const position = call.inputs[1] === undefined ? elements.length - 1 : positionOf(call.input(1), elements.length);
  return sequence(withoutAxis(elements, position));
};

export const length: Transfer = (call) => plain([], [Size.constant(call.sequence(0).elements.length)]);

/** ConcatFromSequence: along an axis that is there, or along a new one. */
export const join: Transfer = (call) => {
  const { elements } = call.sequence(0);
  const axis = call.integer('axis', 0);
  const isNew = call.integer('new_axis', 0) === 1;
  const values = isNew ? elements.map((value) => withNewAxis(value, axis)) : elements;
  return concat(
    new OperatorCall(
      call.node,
      new Map([['axis', { kind: 'integer', value: axis }]]),
      call.opset,
      values,
      call.symbols,
      call.runSubgraph,
    ),
  );
};

function withNewAxis(value: Value, written: number): Value {
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const axis = axisFrom(written, dims.length + 1);
  const shape = [...dims.slice(0, axis), one, ...dims.slice(axis)];
  return isRows(value) ? rows(shape, value.axis >= axis ? value.axis + 1 : value.axis) : plain(shape);
}

/** SplitToSequence: into parts of given sizes, or of size one. */
export const splitToSequence: Transfer = (call) => {
  const [value, sizes] = [call.input(0), call.inputs[1]];
  mustNotCount([value, sizes]);
  const dims = mustHaveDims(value);
  const axis = axisFrom(call.integer('axis', 0), dims.length);
  if (isRows(value) && value.axis === axis) throw mixed('it splits the rows');
  const whole = (dims[axis] as Size).constantValue;
  const part = (shape: readonly Size[], batch: number): Value => (isRows(value) ? rows(shape, batch) : plain(shape));
  const batchAxis = isRows(value) ? value.axis : 0;
  if (sizes === undefined) {
    if (whole === undefined || whole > elementsMax) throw unknown('into how many parts it splits is not known');
    const isKeeping = call.integer('keepdims', 1) === 1;
    const shape = isKeeping ? withItem(dims, axis, one) : withoutAxis(dims, axis);
    return sequence(
      Array.from({ length: whole }, () => part(shape, !isKeeping && axis < batchAxis ? batchAxis - 1 : batchAxis)),
    );
  }
  return sequence(partSizes(sizes, whole).map((size) => part(withItem(dims, axis, Size.constant(size)), batchAxis)));
};

/** A list of sizes, or one size for all parts but the last. */
function partSizes(sizes: Value, whole: number | undefined): readonly number[] {
  const written = constantsOf(sizes);
  const [each] = written ?? [];
  if (written === undefined || each === undefined) throw unknown('into how many parts it splits is not known');
  if (mustHaveDims(sizes).length === 1) return written;
  if (whole === undefined || each < 1 || whole / each > elementsMax)
    throw unknown('into how many parts it splits is not known');
  return Array.from({ length: Math.ceil(whole / each) }, (_, index) => Math.min(each, whole - index * each));
}

/** Optional and OptionalGetElement: what is there is there. */
export const optional: Transfer = (call) => {
  const value = call.sequences[0] ?? call.inputs[0];
  if (value === undefined) throw unknown('a value is missing');
  return value;
};

export const hasElement: Transfer = (call) => {
  const isThere = call.sequences[0] !== undefined || call.inputs[0] !== undefined;
  return plain([], [Size.constant(isThere ? 1 : 0)]);
};
