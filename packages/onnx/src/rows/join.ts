/**
 * What is known of a value that is one of two: from a condition's branches, or from a loop's first and later
 * iterations.
 */
import { isRows } from './axes.ts';
import type { Size } from './size.ts';
import { type CountedValue, mixed, type PlainValue, plain, rows, unknown, type Value } from './value.ts';

/** `nameSize` gives a size for an axis on which the two differ. */
export function joinValues(left: Value, right: Value, nameSize: (axis: number) => Size): Value {
  if (left.kind === 'counted' || right.kind === 'counted') {
    if (left.kind === 'counted' && right.kind === 'counted' && isSameList(left, right)) return left;
    throw mixed('the number of rows is used as a value');
  }
  if (left.kind === 'plain' && right.kind === 'plain') return joinPlain(left, right, nameSize);
  if (!isRows(left) || !isRows(right)) throw unknown('it has rows in one case and none in another');
  if (left.axis !== right.axis || left.dims.length !== right.dims.length)
    throw unknown('it has its rows on different axes');
  const batch = left.dims[left.axis] as Size;
  if (!batch.equals(right.dims[right.axis] as Size)) throw unknown('it has different numbers of elements for each row');
  const dims = left.dims.map((size, axis) => (size.equals(right.dims[axis] as Size) ? size : nameSize(axis)));
  return rows(dims, left.axis);
}

function joinPlain(left: PlainValue, right: PlainValue, nameSize: (axis: number) => Size): PlainValue {
  const [leftDims, rightDims] = [left.dims, right.dims];
  if (leftDims === undefined || rightDims === undefined || leftDims.length !== rightDims.length)
    return plain(undefined);
  const dims = leftDims.map((size, axis) => (size.equals(rightDims[axis] as Size) ? size : nameSize(axis)));
  return isSameList(left, right) ? { ...left, dims } : plain(dims);
}

function isSameList(left: PlainValue | CountedValue, right: PlainValue | CountedValue): boolean {
  const [mine, other] = [left.contents, right.contents];
  if (mine === undefined || other === undefined || mine.length !== other.length) return false;
  return mine.every((size, index) => size.equals(other[index] as Size));
}

/** Whether nothing more is known of one than of the other. */
export function isSameValue(left: Value, right: Value): boolean {
  if (left.kind !== right.kind || left.dims?.length !== right.dims?.length) return false;
  if (isRows(left) && isRows(right) && left.axis !== right.axis) return false;
  if (left.dims?.some((size, axis) => !size.equals(right.dims?.[axis] as Size)) === true) return false;
  if (isRows(left) || isRows(right)) return true;
  if (left.kind === 'plain' && right.kind === 'plain' && String(left.numbers) !== String(right.numbers)) return false;
  return (left.contents === undefined && right.contents === undefined) || isSameList(left, right);
}
