/** Operators that read and write elements by indices. */
import { axisFrom, isRows, withItem } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { constantsOf, contentsOf, mustHaveContents } from '../contents.ts';
import { Size } from '../size.ts';
import { counted, mixed, mustHaveDims, type OperatorOutput, plain, rows, unknown, type Value } from '../value.ts';

export const gather: Transfer = (call) => {
  const [data, indices] = [call.input(0), call.input(1)];
  mustNotCount([indices]);
  const dims = mustHaveDims(data);
  const axis = axisFrom(call.integer('axis', 0), dims.length);
  if (data.kind === 'counted' || (data.kind === 'plain' && data.contents !== undefined && dims.length === 1)) {
    return elementsOf(data, indices, call);
  }
  const indexDims = mustHaveDims(indices);
  const shape = [...dims.slice(0, axis), ...indexDims, ...dims.slice(axis + 1)];
  if (isRows(data)) {
    if (isRows(indices)) throw mixed('rows are picked by the indices of every row');
    if (data.axis === axis) throw mixed('it picks rows by their position');
    return rows(shape, data.axis > axis ? data.axis + indexDims.length - 1 : data.axis);
  }
  return isRows(indices) ? rows(shape, axis + indices.axis) : plain(shape);
};

/** Elements of a list whose contents are followed. */
function elementsOf(data: Value, indices: Value, call: OperatorCall): OperatorOutput {
  const contents = contentsOf(data, call.symbols);
  const positions = constantsOf(indices);
  const indexDims = mustHaveDims(indices);
  if (contents === undefined || positions === undefined || mustHaveDims(data).length !== 1) {
    mustNotCount([data]);
    return isRows(indices) ? rows(indexDims, indices.axis) : plain(indexDims);
  }
  const picked = positions.map((position) => contents[position < 0 ? position + contents.length : position]);
  if (picked.some((size) => size === undefined)) throw unknown('an index is outside of the list');
  return counted(indexDims, picked as readonly Size[]);
}

/** GatherElements: data and indices have the same axes; along the others they are at the same position. */
export const gatherElements: Transfer = (call) => {
  const [data, indices] = [call.input(0), call.input(1)];
  mustNotCount([data, indices]);
  const indexDims = mustHaveDims(indices);
  const axis = axisFrom(call.integer('axis', 0), mustHaveDims(data).length);
  if (data.kind === 'plain' && indices.kind === 'plain') return plain(indexDims);
  if (!isRows(data) || !isRows(indices)) throw unknown('only one of data and indices has rows');
  mustLineUp([data, indices]);
  if (data.axis === axis) throw mixed('it picks rows by their position');
  return rows(indexDims, indices.axis);
};

function mustLineUp(values: readonly Value[]): void {
  const [first, ...others] = values.filter(isRows);
  for (const value of others) {
    if (first === undefined || value.axis !== first.axis) throw mixed('the batch axes of its inputs do not line up');
    const same = (value.dims[value.axis] as Size).equals(first.dims[first.axis] as Size);
    if (!same) throw unknown('its inputs have different numbers of elements for each row');
  }
}

export const gatherNd: Transfer = (call) => {
  const [data, indices] = [call.input(0), call.input(1)];
  mustNotCount([data, indices]);
  const [dims, indexDims] = [mustHaveDims(data), mustHaveDims(indices)];
  const shared = call.integer('batch_dims', 0);
  const depth = indexDims.at(-1)?.constantValue;
  if (depth === undefined) throw unknown('how many axes are indexed is not known');
  const shape = [...indexDims.slice(0, -1), ...dims.slice(shared + depth)];
  if (data.kind === 'plain' && indices.kind === 'plain') return plain(shape);
  if (isRows(indices) && indices.axis === indexDims.length - 1) throw mixed('the batch axis is taken for indices');
  if (data.kind === 'plain') {
    if (isRows(indices) && indices.axis < shared)
      throw mixed('a tensor of a fixed number of rows meets the batch axis');
    return rows(shape, (indices as { readonly axis: number }).axis);
  }
  if (!isRows(data) || !isRows(indices) || data.axis >= shared) throw mixed('the indices name rows');
  mustLineUp([data, indices]);
  return rows(shape, indices.axis);
};

/** ScatterElements: data, indices and updates have the same axes. */
export const scatterElements: Transfer = (call) => {
  const values = [call.input(0), call.input(1), call.input(2)];
  mustNotCount(values);
  const [data] = values as [Value, Value, Value];
  const dims = mustHaveDims(data);
  const axis = axisFrom(call.integer('axis', 0), dims.length);
  if (values.every(({ kind }) => kind === 'plain')) return plain(dims);
  if (!values.every(isRows)) throw unknown('only some of its inputs have rows');
  mustLineUp(values);
  if (isRows(data) && data.axis === axis) throw mixed('it places rows by their position');
  return data;
};

export const scatterNd: Transfer = (call) => {
  const [data, indices, updates] = [call.input(0), call.input(1), call.input(2)];
  mustNotCount([data, indices, updates]);
  if ([data, indices, updates].every(({ kind }) => kind === 'plain')) return plain(mustHaveDims(data));
  throw isRows(indices) || isRows(data) ? mixed('the indices name rows') : unknown('rows are placed in one tensor');
};

export const oneHot: Transfer = (call) => {
  const [indices, depth, values] = [call.input(0), call.input(1), call.input(2)];
  mustNotCount([indices, depth, values]);
  if (depth.kind !== 'plain' || values.kind !== 'plain')
    throw unknown('an input that sets how it works depends on the rows');
  const dims = mustHaveDims(indices);
  const axis = axisFrom(call.integer('axis', -1), dims.length + 1);
  const [size] = contentsOf(depth, call.symbols) ?? [];
  const length = size !== undefined && call.symbols.isNotNegative(size) ? size : call.symbols.size();
  const shape = [...dims.slice(0, axis), length, ...dims.slice(axis)];
  return isRows(indices) ? rows(shape, indices.axis >= axis ? indices.axis + 1 : indices.axis) : plain(shape);
};

/** The lower or upper part of matrices in the last two axes. */
export const triangle: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount(call.given);
  const setting = call.inputs[1];
  if (setting !== undefined && setting.kind !== 'plain')
    throw unknown('an input that sets how it works depends on the rows');
  const dims = mustHaveDims(value);
  if (isRows(value) && value.axis >= dims.length - 2) throw mixed('the position of a row decides what is kept of it');
  return isRows(value) ? value : plain(dims);
};

/** ArrayFeatureExtractor: picks along the last axis, by indices taken as one list. */
export const features: Transfer = (call) => {
  const [data, indices] = [call.input(0), call.input(1)];
  mustNotCount([data, indices]);
  const dims = mustHaveDims(data);
  const count = Size.product(mustHaveDims(indices)) ?? call.symbols.size();
  // A list is one sample.
  const shape = [...(dims.length === 1 ? [Size.constant(1)] : dims.slice(0, -1)), count];
  if (isRows(indices)) {
    if (isRows(data)) throw mixed('rows are picked by the indices of every row');
    const before = Size.product(indices.dims.slice(0, indices.axis));
    if (before?.is(1) !== true) throw unknown('the indices of a row do not stay together');
    return rows(shape, shape.length - 1);
  }
  if (isRows(data) && data.axis === dims.length - 1) throw mixed('it picks rows by their position');
  return isRows(data) ? rows(shape, data.axis) : plain(shape);
};

/** CenterCropPad: along the given axes, to the given sizes. */
export const cropOrPad: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const sizes = mustHaveContents(call.input(1), call.symbols, 'the new shape');
  const axes = (call.integers('axes') ?? dims.map((_, axis) => axis)).map((axis) => axisFrom(axis, dims.length));
  let shape: readonly Size[] = dims;
  for (const [index, axis] of axes.entries()) {
    const size = sizes[index];
    if (size === undefined) throw unknown('the new shape does not fit the tensor');
    if (isRows(value) && value.axis === axis) {
      if (size.equals(value.dims[axis] as Size)) continue;
      throw mixed('it crops or pads the batch axis');
    }
    if (size.dependsOnRows) throw mixed('the number of rows is used as a value');
    shape = withItem(shape, axis, call.symbols.isNotNegative(size) ? size : call.symbols.size());
  }
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

/**
 * Embeds tokens, segments and positions: all inputs of tokens have rows, all tables none. Outputs: embedding, mask,
 * sum.
 */
export const embedding: Transfer = (call) => {
  const tokens = call.input(0);
  const perRow = [0, 1, 7, 8].map((index) => call.inputs[index]).filter((value) => value !== undefined);
  const tables = call.inputs.slice(2, 7).filter((value) => value !== undefined);
  mustNotCount([...perRow, ...tables]);
  if (tables.some(({ kind }) => kind !== 'plain')) throw unknown('its weights depend on the rows');
  const dims = mustHaveDims(tokens);
  const width = tables[0]?.dims?.at(-1) ?? call.symbols.size();
  if (!isRows(tokens)) {
    if (perRow.some(isRows)) throw unknown('only some of its inputs have rows');
    return [plain([...dims, width]), plain(undefined), plain([...dims, width])];
  }
  if (tokens.axis !== 0) throw mixed('the batch axis is taken for the sequence');
  for (const value of perRow) {
    const isShared = value === call.inputs[8] && value.kind === 'plain' && value.dims?.[0]?.is(1) === true;
    if (!isRows(value) && !isShared) throw unknown('only some of its inputs have rows');
  }
  mustLineUp(perRow);
  const output = rows([...dims, width], 0);
  return [output, rows([dims[0] as Size], 0), output];
};
