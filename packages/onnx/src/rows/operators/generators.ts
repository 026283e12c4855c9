/** Operators that make tensors: constants, shapes, ranges. */
import type { StoredTensor } from '../../model/model-proto.ts';
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import { constantsOf, contentsMax, exactMax, mustHaveContents } from '../contents.ts';
import { Size } from '../size.ts';
import { counted, filled, mixed, mustHaveDims, type PlainValue, plain, unknown } from '../value.ts';

/** ONNX's numbers of the types whose whole numbers are followed: INT32, INT64, BOOL, UINT32, UINT64. Narrower ones wrap around too soon. */
const wholeTypes: ReadonlySet<number> = new Set([6, 7, 9, 12, 13]);
const floatTypes: ReadonlySet<number> = new Set([1, 11]);

export function storedValue({ shape, values, elementType }: StoredTensor): PlainValue {
  const dims = shape.map((size) => Size.constant(size));
  if (values === undefined) return plain(dims);
  if (floatTypes.has(elementType)) return { kind: 'plain', dims, numbers: values };
  if (!wholeTypes.has(elementType) || values.length > contentsMax) return plain(dims);
  return { kind: 'plain', dims, numbers: values, contents: values.map((value) => Size.constant(value)) };
}

export const constant: Transfer = (call) => {
  const value = call.attribute('value');
  if (value?.kind === 'tensor') return storedValue(value.value);
  const float = call.attribute('value_float');
  if (float?.kind === 'float') return { kind: 'plain', dims: [], numbers: [float.value] };
  const integer = call.attribute('value_int');
  if (integer?.kind === 'integer') return plain([], [Size.constant(integer.value)]);
  const integers = call.attribute('value_ints');
  if (integers?.kind === 'integers') {
    const dims = [Size.constant(integers.value.length)];
    return integers.value.length <= contentsMax
      ? plain(
          dims,
          integers.value.map((element) => Size.constant(element)),
        )
      : plain(dims);
  }
  const floats = call.attribute('value_floats');
  if (floats?.kind === 'floats')
    return { kind: 'plain', dims: [Size.constant(floats.value.length)], numbers: floats.value };
  const texts = call.attribute('value_strings');
  if (texts?.kind === 'texts') return plain([Size.constant(texts.value.length)]);
  return call.attribute('value_string') === undefined ? plain(undefined) : plain([]);
};

export const shapeOf: Transfer = (call) => {
  const dims = mustHaveDims(call.input(0));
  const rank = dims.length;
  const clamp = (position: number): number => Math.min(Math.max(position < 0 ? position + rank : position, 0), rank);
  const part = dims.slice(clamp(call.integer('start', 0)), clamp(call.integer('end', rank)));
  return counted([Size.constant(part.length)], part);
};

export const sizeOf: Transfer = (call) => {
  const count = Size.product(mustHaveDims(call.input(0)));
  if (count === undefined) throw unknown('a shape is too complicated to follow');
  return counted([], [count]);
};

export const constantOfShape: Transfer = (call) => {
  const sizes = mustHaveContents(call.input(0), call.symbols, 'the shape');
  if (sizes.some((size) => !call.symbols.isNotNegative(size))) {
    if (sizes.some((size) => size.dependsOnRows)) throw unknown('the shape is not known before the run');
    return plain(sizes.map(() => call.symbols.size()));
  }
  const value = filled(sizes);
  const count = Size.product(sizes)?.constantValue;
  const attribute = call.attribute('value');
  const stored = attribute?.kind === 'tensor' ? wholeValueOf(attribute.value) : undefined;
  if (value.kind !== 'plain' || count === undefined || count > contentsMax || stored === undefined) return value;
  return plain(
    value.dims,
    Array.from({ length: count }, () => Size.constant(stored)),
  );
};

/** The value of a tensor of one whole number. */
function wholeValueOf({ elementType, values }: StoredTensor): number | undefined {
  return wholeTypes.has(elementType) ? values?.[0] : undefined;
}

export const range: Transfer = (call) => {
  const [start, limit, step] = [call.input(0), call.input(1), call.input(2)];
  if ([start, limit, step].some(isRows)) throw mixed('values of rows say how long it is');
  if ([start, limit, step].some(({ kind }) => kind === 'counted')) throw unknown('it numbers the rows');
  const [from, to, by] = [start, limit, step].map((value) => constantsOf(value)?.[0]);
  if (from !== undefined && to !== undefined && by !== undefined && by !== 0) {
    const length = Math.max(0, Math.ceil((to - from) / by));
    const dims = [Size.constant(length)];
    const isList =
      length <= contentsMax && [from, to, by].every((value) => Number.isInteger(value) && Math.abs(value) <= exactMax);
    return isList
      ? plain(
          dims,
          Array.from({ length }, (_, index) => Size.constant(from + index * by)),
        )
      : plain(dims);
  }
  const [end] = mustHaveContents(limit, call.symbols, 'where it ends');
  const isCount = from === 0 && by === 1 && end !== undefined && call.symbols.isNotNegative(end);
  return plain([isCount ? end : call.symbols.size()]);
};

/** A matrix of the input's shape, with ones where row and column are the same number. */
export const eyeLike: Transfer = (call) => {
  const value = call.input(0);
  if (isRows(value)) throw mixed('the position of a row decides what is in it');
  mustNotCount([value]);
  return plain(value.dims);
};

export const random: Transfer = () => {
  throw unknown('it draws random numbers');
};

/** Windows and filters computed from settings alone, with so many axes. */
export function settingsTable(rank: number): Transfer {
  return (call) => {
    mustNotCount(call.given);
    if (call.given.some(isRows)) throw unknown('an input that sets how it works depends on the rows');
    return plain(Array.from({ length: rank }, () => call.symbols.size()));
  };
}
