/** Operators that compute along axes: reductions, soft maxima, cumulative sums, order. */
import { axisFrom, isRows, withItem, withoutAxis } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { exactMax, mustBeConstants, mustHaveContents } from '../contents.ts';
import { one, Size } from '../size.ts';
import { counted, mixed, mustHaveDims, type OperatorOutput, plain, rows, unknown, type Value } from '../value.ts';

/** ReduceSum takes its axes as an input since opset 13, the others since 18. */
export function reduce(axesInputSince: number, fold?: (left: Size, right: Size) => Size | undefined): Transfer {
  return (call) => {
    const value = call.input(0);
    const dims = mustHaveDims(value);
    const written = call.opset >= axesInputSince ? inputAxes(call) : call.integers('axes');
    const isKeeping = call.integer('keepdims', 1) === 1;
    if ((written?.length ?? 0) === 0 && call.integer('noop_with_empty_axes', 0) === 1) return value;
    const axes = new Set(
      written === undefined || written.length === 0
        ? dims.map((_, axis) => axis)
        : written.map((axis) => axisFrom(axis, dims.length)),
    );
    if (isRows(value) && axes.has(value.axis)) throw mixed('it reduces over the batch axis');
    const shape = dims.flatMap((size, axis) => (axes.has(axis) ? (isKeeping ? [one] : []) : [size]));
    if (isRows(value)) {
      const removed = isKeeping ? 0 : [...axes].filter((axis) => axis < value.axis).length;
      return rows(shape, value.axis - removed);
    }
    return reducedList(value, shape, fold);
  };
}

function inputAxes(call: OperatorCall): readonly number[] | undefined {
  const input = call.inputs[1];
  return input === undefined ? undefined : mustBeConstants(input, 'the list of axes');
}

function reducedList(
  value: Exclude<Value, { kind: 'rows' }>,
  shape: readonly Size[],
  fold: ((left: Size, right: Size) => Size | undefined) | undefined,
): OperatorOutput {
  const { contents, dims } = value;
  const isList = dims?.length === 1 && shape.every((size) => size.is(1));
  if (contents === undefined || fold === undefined || !isList || contents.length === 0) {
    mustNotCount([value]);
    return plain(shape);
  }
  const [first, ...others] = contents as readonly [Size, ...Size[]];
  let result: Size | undefined = first;
  for (const element of others) result = result === undefined ? undefined : fold(result, element);
  if (result !== undefined && Math.abs(result.constantValue ?? 0) <= exactMax) return counted(shape, [result]);
  mustNotCount([value]);
  return plain(shape);
}

/** ArgMax and ArgMin. */
export const indexOfExtreme: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const axis = axisFrom(call.integer('axis', 0), dims.length);
  if (isRows(value) && value.axis === axis) throw mixed('it compares the rows');
  const isKeeping = call.integer('keepdims', 1) === 1;
  const shape = isKeeping ? withItem(dims, axis, one) : withoutAxis(dims, axis);
  if (!isRows(value)) return plain(shape);
  return rows(shape, !isKeeping && axis < value.axis ? value.axis - 1 : value.axis);
};

/** Softmax, LogSoftmax, Hardmax: until opset 12 over everything from `axis` on, since then over that axis. */
export const softmax: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const isFlattening = call.opset < 13;
  const axis = softmaxAxis(call.integer('axis', isFlattening ? 1 : -1), dims.length, isFlattening);
  if (isRows(value) && (isFlattening ? value.axis >= axis : value.axis === axis))
    throw mixed('it normalises over the batch axis');
  return isRows(value) ? value : plain(dims);
};

function softmaxAxis(axis: number, rank: number, isFlattening: boolean): number {
  return isFlattening && axis === rank ? rank : axisFrom(axis, rank);
}

/** Along one axis that must not be the batch, the shape stays. The axis is an attribute with this default. */
export function along(attribute: string, fallback: number): Transfer {
  return (call) => {
    const value = call.input(0);
    mustNotCount([value]);
    const dims = mustHaveDims(value);
    const axis = axisFrom(call.integer(attribute, fallback), dims.length);
    if (isRows(value) && value.axis === axis) throw mixed('it works along the batch axis');
    return isRows(value) ? value : plain(dims);
  };
}

/** CumSum and CumProd: the axis is an input. */
export const cumulative: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const [axis] = mustBeConstants(call.input(1), 'the axis');
  if (axis === undefined) throw unknown('the axis is not known');
  if (isRows(value) && value.axis === axisFrom(axis, dims.length)) throw mixed('it adds the rows up');
  return isRows(value) ? value : plain(dims);
};

export const topK: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const axis = axisFrom(call.integer('axis', -1), dims.length);
  if (isRows(value) && value.axis === axis) throw mixed('it orders the rows');
  const count =
    call.opset < 10
      ? Size.constant(call.integer('k', 1))
      : (mustHaveContents(call.input(1), call.symbols, 'how many it takes')[0] ?? one);
  if (count.dependsOnRows) throw mixed('the number of rows is used as a value');
  const length = call.symbols.isNotNegative(count) ? count : call.symbols.size();
  const shape = withItem(dims, axis, length);
  const output = isRows(value) ? rows(shape, value.axis) : plain(shape);
  return [output, output];
};

/** Mean and variance over the axes of the attribute; without it over all but the channels. */
export const meanVarianceNormalisation: Transfer = (call) => {
  const value = call.input(0);
  const dims = mustHaveDims(value);
  const axes = (call.integers('axes') ?? [0, 2, 3]).map((axis) => axisFrom(axis, dims.length));
  if (isRows(value) && axes.includes(value.axis)) throw mixed('it normalises over the batch axis');
  mustNotCount([value]);
  return isRows(value) ? value : plain(dims);
};

export const reverseSequence: Transfer = (call) => {
  const [value, lengths] = [call.input(0), call.input(1)];
  mustNotCount([value, lengths]);
  const dims = mustHaveDims(value);
  const time = axisFrom(call.integer('time_axis', 0), dims.length);
  const batch = axisFrom(call.integer('batch_axis', 1), dims.length);
  if (value.kind === 'plain' && lengths.kind === 'plain') return plain(dims);
  if (!isRows(value)) throw unknown('the lengths have rows and what is reversed has none');
  if (value.axis === time) throw mixed('it reverses the order of the rows');
  if (value.axis === batch) {
    if (!isRows(lengths)) throw mixed('a fixed number of lengths meets the batch axis');
    const same = (lengths.dims[lengths.axis] as Size).equals(value.dims[value.axis] as Size);
    if (!same) throw unknown('its inputs have different numbers of elements for each row');
  } else if (isRows(lengths)) throw mixed('the lengths of the rows are used for another axis');
  return value;
};

/** Takes elements where a condition holds; along another axis by the same condition for all rows. */
export const compress: Transfer = (call) => {
  const [value, condition] = [call.input(0), call.input(1)];
  mustNotCount([value, condition]);
  if (condition.kind === 'rows') throw mixed('a condition of all rows decides what is taken');
  const dims = mustHaveDims(value);
  if (!call.has('axis')) {
    if (isRows(value)) throw mixed('it takes elements of all rows as one list');
    return plain([call.symbols.size()]);
  }
  const axis = axisFrom(call.integer('axis', 0), dims.length);
  if (isRows(value) && value.axis === axis) throw mixed('it takes a part of the rows');
  const shape = withItem(dims, axis, call.symbols.size());
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

/** Results whose shape depends on the data of all rows. */
export function dataDependent(reason: string, rank?: number): Transfer {
  return (call) => {
    mustNotCount(call.given);
    if (call.given.some(isRows)) throw mixed(reason);
    const unknownValue = plain(
      rank === undefined ? undefined : Array.from({ length: rank }, () => call.symbols.size()),
    );
    return call.node.outputs.map(() => unknownValue);
  };
}
