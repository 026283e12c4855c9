import { one, type Size } from './size.ts';
import type { Symbols } from './symbols.ts';
import { mixed, mustHaveDims, type PlainValue, plain, type RowsValue, rows, unknown, type Value } from './value.ts';

/** The result of an elementwise operator after aligning its inputs at their last axes. */
export function broadcast(values: readonly Value[], symbols: Symbols): PlainValue | RowsValue {
  mustNotCount(values);
  const rank = Math.max(0, ...values.map((value) => mustHaveDims(value).length));
  const axis = alignedRowAxis(values, rank);
  const dims: Size[] = [];
  for (let index = 0; index < rank; index++) {
    let size = one;
    for (const value of values) {
      const own = mustHaveDims(value);
      const aligned = own[index - rank + own.length];
      if (aligned === undefined) continue;
      if (index === axis && value.kind === 'plain') {
        mustBeOne(aligned);
        continue;
      }
      size = broadcastSize(size, aligned, symbols);
    }
    dims.push(size);
  }
  return axis === undefined ? plain(dims) : rows(dims, axis);
}

/** The axis, of a result with `rank` axes, on which all inputs with rows have them; undefined when none has rows. */
function alignedRowAxis(values: readonly Value[], rank: number): number | undefined {
  let axis: number | undefined;
  let size: Size | undefined;
  for (const value of values) {
    if (value.kind !== 'rows') continue;
    const aligned = value.axis + rank - value.dims.length;
    const own = value.dims[value.axis] as Size;
    if (axis !== undefined && axis !== aligned)
      throw mixed('the batch axes of its inputs do not line up, so every row meets every other');
    if (size !== undefined && !size.equals(own))
      throw unknown('its inputs have different numbers of elements for each row');
    axis = aligned;
    size = own;
  }
  return axis;
}

/** A tensor without rows that meets the batch axis must be repeated along it. */
export function mustBeOne(size: Size): void {
  const constant = size.constantValue;
  if (constant === 1) return;
  if (constant === undefined) throw unknown('a tensor without rows meets the batch axis with a size that is not known');
  throw mixed(`a dimension of fixed size ${constant} is broadcast against the batch axis`);
}

export function broadcastSize(left: Size, right: Size, symbols: Symbols): Size {
  if (left.is(1)) return right;
  if (right.is(1) || left.equals(right)) return left;
  if (left.dependsOnRows || right.dependsOnRows) throw unknown('an axis that grows with the rows meets another size');
  if (left.constantValue !== undefined && right.constantValue !== undefined) {
    throw unknown(`axes of sizes ${left.key} and ${right.key} meet`);
  }
  if (left.constantValue !== undefined) return left;
  if (right.constantValue !== undefined) return right;
  return symbols.result(`broadcast(${[left.key, right.key].sort().join(',')})`);
}

/** For operators to which a number of rows would be a value like any other. */
export function mustNotCount(values: readonly (Value | undefined)[]): void {
  if (values.some((value) => value?.kind === 'counted')) throw mixed('the number of rows is used as a value');
}
