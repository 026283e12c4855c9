/**
 * New shapes for the elements in their order. What a request needs to run alone may be assumed: that its elements fit
 * the new shape. It must be proved that this holds with more rows, and that the elements of a row stay together.
 */
import { isRows } from './axes.ts';
import { rowCount, Size } from './size.ts';
import type { Symbols } from './symbols.ts';
import { mixed, mustHaveDims, type OperatorOutput, plain, type RowsValue, rows, unknown, type Value } from './value.ts';

/** Sizes as a Reshape node is given them: 0 copies the input's size unless `allowZero`, -1 is what is left. */
export function reshapeTo(value: Value, target: readonly Size[], allowZero: boolean, symbols: Symbols): OperatorOutput {
  const copied = target.map((size, axis) => (size.is(0) && !allowZero ? mustCopy(value, axis, symbols) : size));
  for (const size of copied) {
    if (!size.is(-1) && !symbols.isNotNegative(size))
      throw unknown('a size of the new shape is not known before the run');
  }
  if (isRows(value)) return reshapeRows(value, copied, symbols);
  if (copied.some((size) => size.dependsOnRows))
    throw mixed('a tensor without rows is given a shape with the number of rows');
  const total = value.dims === undefined ? undefined : Size.product(value.dims);
  const shape = copied.map((size, axis) => {
    if (!size.is(-1)) return size;
    const others = Size.product(copied.filter((_, index) => index !== axis));
    return (others === undefined ? undefined : total?.dividedBy(others)) ?? symbols.size();
  });
  return value.kind === 'counted' ? { ...value, dims: shape } : { ...value, dims: shape };
}

function mustCopy(value: Value, axis: number, symbols: Symbols): Size {
  if (value.dims === undefined) return symbols.size();
  const size = value.dims[axis];
  if (size === undefined) throw unknown('it copies the size of an axis that is not there');
  return size;
}

function reshapeRows(value: RowsValue, target: readonly Size[], symbols: Symbols): OperatorOutput {
  const before = mustBeKnown(Size.product(value.dims.slice(0, value.axis)));
  const free = target.findIndex((size) => size.is(-1));
  const shape = free === -1 ? target : withRest(value, target, free, symbols);
  const axis = shape.findIndex((size) => size.dependsOnRows);
  if (axis === -1) throw mixed(`the new shape [${text(shape)}] is fixed, whatever the number of rows`);
  // Elements stay in their order, so rows stay together where as many elements lie before the batch axis as did before.
  if (mustBeKnown(Size.product(shape.slice(0, axis))).equals(before)) return rows(shape, axis);
  throw unknown(`[${text(value.dims)}] becomes [${text(shape)}], where rows may not stay together`);
}

/** The shape with its -1 computed. */
function withRest(value: RowsValue, target: readonly Size[], free: number, symbols: Symbols): readonly Size[] {
  const total = mustBeKnown(Size.product(value.dims));
  const others = mustBeKnown(Size.product(target.filter((_, index) => index !== free)));
  const rest = total.dividedBy(others) ?? restOfOneRow(total, others, symbols);
  return target.map((size, index) => (index === free ? rest : size));
}

/** The part of a row that is left where other axes hold the rows: whole for one row, so the same for all. */
function restOfOneRow(total: Size, others: Size, symbols: Symbols): Size {
  const perRow = total.dividedBy(rowCount);
  const divisor = others.dependsOnRows ? others.dividedBy(rowCount) : undefined;
  if (perRow === undefined) throw unknown('what is left for an axis is not known');
  // A request of two rows may fit where one does not: other requests in the same run shift the positions where its rows
  // are split.
  if (divisor === undefined && perRow.constantValue !== undefined && others.constantValue !== undefined) {
    throw mixed(
      `the ${perRow.key} elements of a row do not fill axes of ${others.key} elements, so that rows are joined`,
    );
  }
  if (divisor === undefined || divisor.dependsOnRows)
    throw unknown(`it is not known that the ${perRow.key} elements of a row fill axes of ${others.key}`);
  return symbols.result(`rest(${perRow.key},${divisor.key})`);
}

function mustBeKnown(size: Size | undefined): Size {
  if (size === undefined) throw unknown('a shape is too complicated to follow');
  return size;
}

function text(sizes: readonly Size[]): string {
  return sizes.map(({ key }) => key).join(', ');
}

/** All sizes given, none to be copied or computed. */
export function reshapeExactly(value: Value, shape: readonly Size[]): OperatorOutput {
  if (!isRows(value))
    return value.kind === 'counted' ? { ...value, dims: shape } : { ...plain(shape), ...contentsKept(value) };
  const before = mustBeKnown(Size.product(mustHaveDims(value).slice(0, value.axis)));
  const axis = shape.findIndex((size) => size.dependsOnRows);
  if (axis !== -1 && mustBeKnown(Size.product(shape.slice(0, axis))).equals(before)) return rows(shape, axis);
  throw mixed(`[${text(value.dims)}] becomes [${text(shape)}], where rows do not stay together`);
}

function contentsKept(value: Value): { readonly contents?: readonly Size[] } {
  return value.kind === 'plain' && value.contents !== undefined ? { contents: value.contents } : {};
}
