/** Operators that take or add parts of tensors: Slice, Split, Pad. */
import { axisFrom, isRows, withItem } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { constantsOf, mustBeConstants, mustHaveContents } from '../contents.ts';
import { one, Size } from '../size.ts';
import { counted, mixed, mustHaveDims, type OperatorOutput, plain, rows, unknown, type Value } from '../value.ts';

/** The largest index there is: as an end it means "to the end", whatever the size. */
const farAway = 2 ** 31 - 1;

interface Cut {
  readonly axis: number;
  readonly start: Size;
  readonly end: Size;
  readonly step: Size;
}

export const slice: Transfer = (call) => {
  const value = call.input(0);
  const dims = mustHaveDims(value);
  const cuts = cutsOf(call, dims.length);
  let shape: readonly Size[] = dims;
  for (const cut of cuts) {
    const size = dims[cut.axis] as Size;
    if (isWhole(cut, size)) continue;
    if (isRows(value) && value.axis === cut.axis) {
      throw isFixed(cut) ? mixed('it takes a part of the rows') : unknown('it may take a part of the rows');
    }
    shape = withItem(shape, cut.axis, lengthOf(cut, size, call));
  }
  if (isRows(value)) return rows(shape, value.axis);
  if (dims.length === 1 && value.contents !== undefined) return partOfList(value.contents, cuts);
  mustNotCount([value]);
  return plain(shape);
};

function cutsOf(call: OperatorCall, rank: number): readonly Cut[] {
  const constant = (values: readonly number[] | undefined): readonly Size[] | undefined =>
    values?.map((value) => Size.constant(value));
  const isAttribute = call.opset < 10;
  const list = (index: number, name: string): readonly Size[] | undefined => {
    if (isAttribute) return constant(call.integers(name));
    const value = call.inputs[index];
    return value === undefined ? undefined : mustHaveContents(value, call.symbols, `where it cuts (${name})`);
  };
  const starts = list(1, 'starts') ?? [];
  const ends = list(2, 'ends') ?? [];
  const axes = list(3, 'axes') ?? starts.map((_, index) => Size.constant(index));
  const steps = isAttribute ? starts.map(() => one) : (list(4, 'steps') ?? starts.map(() => one));
  return axes.map((axis, index) => {
    const position = axis.constantValue;
    const [start, end, step] = [starts[index], ends[index], steps[index]];
    if (position === undefined || start === undefined || end === undefined || step === undefined) {
      throw unknown('where it cuts is not known before the run');
    }
    return { axis: axisFrom(position, rank), start, end, step };
  });
}

function isWhole({ start, end, step }: Cut, size: Size): boolean {
  return start.is(0) && step.is(1) && (end.equals(size) || (end.constantValue ?? 0) >= farAway);
}

function isFixed({ start, end, step }: Cut): boolean {
  return [start, end, step].every((size) => size.constantValue !== undefined);
}

function lengthOf({ start, end, step }: Cut, size: Size, call: OperatorCall): Size {
  const parts = [start, end, step];
  if (parts.some((part) => part.dependsOnRows)) throw mixed('the number of rows says where it cuts');
  const [from, to, by, length] = [...parts, size].map((part) => part.constantValue);
  if (from === undefined || to === undefined || by === undefined || length === undefined) {
    return call.symbols.result(`slice(${[...parts, size].map(({ key }) => key)})`);
  }
  return Size.constant(spanOf(from, to, by, length).count);
}

/** Where a slice of an axis begins and how many elements it takes, as ONNX has it: negative positions count from the end, those outside are moved inside. */
function spanOf(
  from: number,
  to: number,
  step: number,
  length: number,
): { readonly start: number; readonly count: number } {
  if (step === 0) throw unknown('it cuts in steps of zero');
  const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
  const start = clamp(from < 0 ? from + length : from, 0, step > 0 ? length : length - 1);
  const end = clamp(to < 0 ? to + length : to, step > 0 ? 0 : -1, length);
  return { start, count: Math.max(0, Math.ceil((end - start) / step)) };
}

function partOfList(contents: readonly Size[], cuts: readonly Cut[]): OperatorOutput {
  let list = contents;
  for (const { start, end, step } of cuts) {
    const [from, to, by] = [start.constantValue, end.constantValue, step.constantValue];
    if (from === undefined || to === undefined || by === undefined)
      throw unknown('where it cuts is not known before the run');
    const all = list;
    const { start: first, count } = spanOf(from, to, by, all.length);
    list = Array.from({ length: count }, (_, index) => all[first + index * by] as Size);
  }
  return counted([Size.constant(list.length)], list);
}

export const split: Transfer = (call) => {
  const value = call.input(0);
  mustNotCountUnlessList(value);
  const dims = mustHaveDims(value);
  const axis = axisFrom(call.integer('axis', 0), dims.length);
  if (isRows(value) && value.axis === axis) throw mixed('it splits the rows');
  const outputs = call.node.outputs.length;
  const input = call.inputs[1];
  if (input !== undefined && input.kind !== 'plain') throw mixed('the rows decide the sizes of the parts');
  const written = input === undefined ? call.integers('split') : constantsOf(input);
  const sizes =
    written ??
    (input === undefined ? equalParts(dims[axis] as Size, call.integer('num_outputs', outputs), outputs) : undefined);
  let start = 0;
  return Array.from({ length: outputs }, (_, index) => {
    const size = sizes?.[index];
    const shape = withItem(dims, axis, size === undefined ? call.symbols.size() : Size.constant(size));
    const from = start;
    start += size ?? 0;
    if (isRows(value)) return rows(shape, value.axis);
    if (dims.length === 1 && value.contents !== undefined && sizes !== undefined) {
      return counted(shape, value.contents.slice(from, start));
    }
    mustNotCount([value]);
    return plain(shape);
  });
};

function mustNotCountUnlessList(value: Value): void {
  if (mustHaveDims(value).length !== 1) mustNotCount([value]);
}

function equalParts(size: Size, parts: number, outputs: number): readonly number[] | undefined {
  const whole = size.constantValue;
  if (whole === undefined || parts < 1) return undefined;
  const each = Math.ceil(whole / parts);
  return Array.from({ length: outputs }, (_, index) => Math.max(0, Math.min(each, whole - index * each)));
}

export const pad: Transfer = (call) => {
  const value = call.input(0);
  const filling = call.inputs[2];
  mustNotCount([value, filling]);
  if (isRows(filling)) throw unknown('the value it pads with depends on the rows');
  const dims = mustHaveDims(value);
  const pads =
    call.opset < 11
      ? (call.integers('pads') ?? []).map((size) => Size.constant(size))
      : mustHaveContents(call.input(1), call.symbols, 'how much it pads');
  const written = call.inputs[3];
  const axes =
    written === undefined
      ? dims.map((_, axis) => axis)
      : mustBeConstants(written, 'the list of axes').map((axis) => axisFrom(axis, dims.length));
  let shape: readonly Size[] = dims;
  for (const [index, axis] of axes.entries()) {
    const [before, after] = [pads[index], pads[index + axes.length]];
    if (before === undefined || after === undefined) throw unknown('how much it pads does not fit the tensor');
    if (before.is(0) && after.is(0)) continue;
    if (isRows(value) && value.axis === axis) throw mixed('it pads the batch axis');
    if (before.dependsOnRows || after.dependsOnRows) throw mixed('the number of rows says how much it pads');
    const length = before.plus(after)?.plus(dims[axis] as Size);
    const isKnown = length !== undefined && call.symbols.isSizeOnly(length);
    shape = withItem(shape, axis, isKnown ? length : call.symbols.size());
  }
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};
