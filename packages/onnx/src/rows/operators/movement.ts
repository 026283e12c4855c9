/** Operators that move elements and compute nothing: shapes, axes, parts, copies. */
import { axisFrom, isRows, withItem } from '../axes.ts';
import { broadcastSize, mustBeOne, mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { mustBeConstants, mustHaveContents } from '../contents.ts';
import { reshapeExactly, reshapeTo } from '../reshape.ts';
import { one, Size } from '../size.ts';
import {
  counted,
  filled,
  mixed,
  mustHaveDims,
  type OperatorOutput,
  plain,
  rows,
  unknown,
  type Value,
} from '../value.ts';

export const reshape: Transfer = (call) => {
  const target =
    call.inputs[1] === undefined
      ? (call.integers('shape') ?? []).map((size) => Size.constant(size))
      : mustHaveContents(call.input(1), call.symbols, 'the new shape');
  return reshapeTo(call.input(0), target, call.integer('allowzero', 0) === 1, call.symbols);
};

export const flatten: Transfer = (call) => {
  const value = call.input(0);
  const dims = mustHaveDims(value);
  const written = call.integer('axis', 1);
  const axis = written === dims.length ? dims.length : axisFrom(written, Math.max(1, dims.length));
  const [before, after] = [Size.product(dims.slice(0, axis)), Size.product(dims.slice(axis))];
  if (before === undefined || after === undefined) throw unknown('a shape is too complicated to follow');
  return reshapeExactly(value, [before, after]);
};

/** From an input since opset 13, from an attribute before; undefined when there are none. */
function axesOf(call: OperatorCall, rank: number): readonly number[] | undefined {
  const input = call.inputs[1];
  const axes = input === undefined ? call.integers('axes') : mustBeConstants(input, 'the list of axes');
  return axes?.map((axis) => axisFrom(axis, rank));
}

export const squeeze: Transfer = (call) => {
  const value = call.input(0);
  const dims = mustHaveDims(value);
  const written = axesOf(call, dims.length) ?? [];
  const axes = written.length > 0 ? written : axesOfSizeOne(value, dims);
  if (isRows(value) && axes.includes(value.axis))
    throw mixed('it removes the batch axis, which works for one row only');
  const kept = dims.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const shape = kept.map((axis) => dims[axis] as Size);
  if (isRows(value)) return rows(shape, kept.indexOf(value.axis));
  return { ...value, dims: shape };
};

function axesOfSizeOne(value: Value, dims: readonly Size[]): readonly number[] {
  if (value.kind === 'rows')
    throw mixed('it removes every axis of size one, among them the batch axis when there is one row');
  return dims.flatMap((size, axis) => {
    if (size.constantValue === undefined) throw unknown('it removes every axis of size one, and a size is not known');
    return size.is(1) ? [axis] : [];
  });
}

export const unsqueeze: Transfer = (call) => {
  const value = call.input(0);
  const dims = mustHaveDims(value);
  const input = call.inputs[1];
  const written = input === undefined ? (call.integers('axes') ?? []) : mustBeConstants(input, 'the list of axes');
  const rank = dims.length + written.length;
  const axes = new Set(written.map((axis) => axisFrom(axis, rank)));
  if (axes.size !== written.length) throw unknown('an axis is listed twice');
  const shape: Size[] = [];
  const origin: number[] = [];
  for (let axis = 0, next = 0; axis < rank; axis++) {
    if (axes.has(axis)) shape.push(one);
    else {
      origin[next] = axis;
      shape.push(dims[next++] as Size);
    }
  }
  if (isRows(value)) return rows(shape, origin[value.axis] as number);
  return { ...value, dims: shape };
};

export const transpose: Transfer = (call) => {
  const value = call.input(0);
  const dims = mustHaveDims(value);
  const order = call.integers('perm') ?? dims.map((_, axis) => dims.length - 1 - axis);
  if (order.length !== dims.length) throw unknown('the order of axes does not fit the tensor');
  const shape = order.map((axis) => dims[axisFrom(axis, dims.length)] as Size);
  if (isRows(value)) return rows(shape, order.indexOf(value.axis));
  if (dims.length < 2) return value;
  mustNotCount([value]);
  return plain(shape);
};

export const concat: Transfer = (call) => {
  const values = call.given;
  const ranks = new Set(values.map((value) => mustHaveDims(value).length));
  const [rank] = ranks;
  if (rank === undefined || ranks.size !== 1) throw unknown('the tensors have different numbers of axes');
  const axis = axisFrom(call.integer('axis', call.opset < 4 ? 1 : 0), rank);
  if (rank === 1 && values.every(({ kind }) => kind !== 'rows')) return joinedLists(values, call);
  mustNotCount(values);
  const batch = values.find(isRows);
  const sizes = values.map((value) => mustHaveDims(value));
  if (batch !== undefined) {
    if (batch.axis === axis) throw mixed('it joins tensors along the batch axis');
    for (const value of values) {
      if (value.kind === 'plain') throw mixed('it joins the rows with a tensor of a fixed number of rows');
      if (!isRows(value) || value.axis !== batch.axis) throw mixed('the batch axes of its inputs do not line up');
      if (!(value.dims[value.axis] as Size).equals(batch.dims[batch.axis] as Size)) {
        throw unknown('its inputs have different numbers of elements for each row');
      }
    }
  }
  let joined: Size | undefined = Size.constant(0);
  for (const dims of sizes) joined = joined?.plus(dims[axis] as Size);
  const shape = withItem(sizes[0] as readonly Size[], axis, joined ?? call.symbols.size());
  return batch === undefined ? plain(shape) : rows(shape, batch.axis);
};

function joinedLists(values: readonly Value[], call: OperatorCall): OperatorOutput {
  const lists = values.map((value) => mustHaveContentsIfCounted(value, call));
  if (lists.some((list) => list === undefined)) {
    mustNotCount(values);
    let length: Size | undefined = Size.constant(0);
    for (const value of values) length = length?.plus(mustHaveDims(value)[0] as Size);
    return plain([length ?? call.symbols.size()]);
  }
  const contents = lists.flatMap((list) => list ?? []);
  return counted([Size.constant(contents.length)], contents);
}

function mustHaveContentsIfCounted(value: Value, call: OperatorCall): readonly Size[] | undefined {
  try {
    return mustHaveContents(value, call.symbols, 'an element');
  } catch {
    return undefined;
  }
}

export const expand: Transfer = (call) => {
  const value = call.input(0);
  const target = mustHaveContents(call.input(1), call.symbols, 'the shape to expand to');
  return expandTo(value, target, call);
};

function expandTo(value: Value, target: readonly Size[], call: OperatorCall): OperatorOutput {
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  for (const size of target) {
    if (!call.symbols.isNotNegative(size))
      throw unknown('a size of the shape to expand to is not known before the run');
  }
  const rank = Math.max(dims.length, target.length);
  const shape: Size[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const own = dims[axis - rank + dims.length] ?? one;
    const wanted = target[axis - rank + target.length] ?? one;
    const isBatch = isRows(value) && axis === value.axis + rank - dims.length;
    if (isBatch && !wanted.is(1) && !wanted.equals(own)) mustBeOne(wanted);
    if (!own.dependsOnRows && wanted.dependsOnRows) mustBeOne(own);
    shape.push(broadcastSize(own, wanted, call.symbols));
  }
  if (isRows(value)) return rows(shape, value.axis + rank - dims.length);
  return filled(shape);
}

export const tile: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const repeats = mustHaveContents(call.input(1), call.symbols, 'how often it repeats');
  if (repeats.length !== dims.length) throw unknown('it does not say how often each axis is repeated');
  const shape = dims.map((size, axis) => {
    const times = repeats[axis] as Size;
    if (isRows(value) && axis === value.axis && !times.is(1)) throw mixed('it repeats the rows');
    if (!call.symbols.isNotNegative(times)) return times.dependsOnRows ? undefined : call.symbols.size();
    return size.times(times);
  });
  if (shape.some((size) => size === undefined)) throw unknown('a shape is too complicated to follow');
  const known = shape as readonly Size[];
  return isRows(value) ? rows(known, value.axis) : filled(known);
};

/** Depth and space exchanged; the first axis stays. */
export function blocks(channels: (size: Size, block: number) => Size | undefined, isGrowing: boolean): Transfer {
  return (call) => {
    const value = call.input(0);
    mustNotCount([value]);
    const dims = mustHaveDims(value);
    if (isRows(value) && value.axis !== 0) throw mixed('the batch axis is taken for channels or space');
    const block = call.integer('blocksize', 1);
    const spatial = (size: Size | undefined): Size => {
      if (size === undefined) throw unknown('it needs four axes');
      const changed = isGrowing ? size.times(Size.constant(block)) : size.dividedBy(Size.constant(block));
      return changed ?? call.symbols.size();
    };
    const channel = channels(dims[1] ?? one, block * block) ?? call.symbols.size();
    const shape = [dims[0] as Size, channel, spatial(dims[2]), spatial(dims[3])];
    return isRows(value) ? rows(shape, 0) : plain(shape);
  };
}

/** ExpandDims: one new axis, at a position that is an input. */
export const expandDims: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const [written] = mustBeConstants(call.input(1), 'the axis');
  if (written === undefined) throw unknown('the axis is not known');
  const axis = axisFrom(written, dims.length + 1);
  const shape = [...dims.slice(0, axis), one, ...dims.slice(axis)];
  return isRows(value) ? rows(shape, value.axis >= axis ? value.axis + 1 : value.axis) : plain(shape);
};
