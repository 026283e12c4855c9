/** Convolutions, pools and other operators over spatial axes: rows, channels, then the spatial axes. */
import { axisFrom, isRows, withItem } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { constantsOf, contentsOf, mustHaveContents } from '../contents.ts';
import { one, Size } from '../size.ts';
import {
  type MixedValue,
  mixed,
  mustHaveDims,
  type OperatorOutput,
  plain,
  rows,
  unknown,
  type Value,
} from '../value.ts';
import { mustBeSettings } from './elementwise.ts';

/** With the rows on the first axis, or on none. */
function mustLeadWithRows(value: Value): void {
  mustNotCount([value]);
  if (isRows(value) && value.axis !== 0) throw mixed('the batch axis is taken for channels or space');
}

/** Sizes of space after a window has moved over it: equal for equal computations, never dependent on the rows. */
function spaceAfter(
  call: OperatorCall,
  dims: readonly Size[],
  kernel: readonly (number | undefined)[],
): readonly Size[] {
  const settings = ['strides', 'pads', 'dilations', 'output_padding', 'output_shape']
    .map((name) => (call.integers(name) ?? []).join(','))
    .join(';');
  const text = `${call.node.operator};${kernel.join(',')};${settings};${call.text('auto_pad', '')};${call.integer('ceil_mode', 0)}`;
  const isKernelKnown = kernel.length === dims.length - 2 && kernel.every((size) => size !== undefined);
  return dims.slice(2).map((size, axis) => {
    const known = windowsOf(call, size.constantValue, kernel[axis], axis, dims.length - 2);
    if (known !== undefined) return Size.constant(known);
    return isKernelKnown ? call.symbols.result(`${text};${axis};${size.key}`) : call.symbols.size();
  });
}

/** How many positions a window has along one axis, where all that decides it is constant and nothing is rounded up. */
function windowsOf(
  call: OperatorCall,
  size: number | undefined,
  kernel: number | undefined,
  axis: number,
  axes: number,
): number | undefined {
  const rounding = call.text('auto_pad', 'NOTSET');
  if (size === undefined || kernel === undefined || call.node.operator === 'ConvTranspose') return undefined;
  const stride = call.integers('strides')?.[axis] ?? 1;
  if (call.integer('ceil_mode', 0) !== 0) return undefined;
  if (rounding === 'SAME_UPPER' || rounding === 'SAME_LOWER') return Math.ceil(size / stride);
  if (rounding !== 'NOTSET' && rounding !== 'VALID') return undefined;
  const pads = rounding === 'VALID' ? [] : (call.integers('pads') ?? []);
  const padding = (pads[axis] ?? 0) + (pads[axis + axes] ?? 0);
  const reach = (call.integers('dilations')?.[axis] ?? 1) * (kernel - 1) + 1;
  return Math.floor((size + padding - reach) / stride) + 1;
}

/** `inputs`: where data, weights and bias stand among the inputs; what else there is are settings. */
export function convolution(weightsInput: number, isTransposed = false): Transfer {
  return (call) => {
    const value = call.input(0);
    mustLeadWithRows(value);
    mustBeSettings(call, 1);
    if (call.node.operator === 'FusedConv' && call.inputs[3] !== undefined) throw unknown('it adds a further tensor');
    const dims = mustHaveDims(value);
    const weights = call.inputs[weightsInput]?.dims;
    const group = call.integer('group', 1);
    const own = weights?.[isTransposed ? 1 : 0]?.constantValue;
    const channels = own === undefined ? call.symbols.size() : Size.constant(isTransposed ? own * group : own);
    const kernel = call.integers('kernel_shape') ?? weights?.slice(2).map((size) => size.constantValue) ?? [];
    const shape = [dims[0] as Size, channels, ...spaceAfter(call, dims, kernel)];
    return isRows(value) ? rows(shape, 0) : plain(shape);
  };
}

/** Windows over space; channels may hold the rows too, since each is treated alone. */
export const pool: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  const dims = mustHaveDims(value);
  if (isRows(value) && value.axis > 1) throw mixed('the batch axis is taken for space');
  const shape = [...dims.slice(0, 2), ...spaceAfter(call, dims, call.integers('kernel_shape') ?? [])];
  const indices: MixedValue = { kind: 'mixed', isCertain: false, reason: 'positions are counted over all rows' };
  if (isRows(value)) return [rows(shape, value.axis), indices];
  return [plain(shape), plain(shape)];
};

export const globalPool: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  if (call.integer('channels_last', 0) === 1) throw unknown('channels are last');
  const dims = mustHaveDims(value);
  if (isRows(value) && value.axis > 1) throw mixed('it reduces over the batch axis');
  const shape = dims.map((size, axis) => (axis < 2 ? size : one));
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

/** Resize and Upsample: along every axis but the batch. */
export const resize: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  const { scales, sizes } = resizeInputs(call);
  for (const [index, setting] of call.inputs.entries()) {
    if (index === 0 || setting === undefined || setting.kind === 'plain') continue;
    if (setting !== sizes || !isRows(value)) throw mixed('the rows decide how it resizes');
  }
  const axes = (call.integers('axes') ?? dims.map((_, axis) => axis)).map((axis) => axisFrom(axis, dims.length));
  if (isRows(value)) {
    if (call.text('coordinate_transformation_mode', '') === 'tf_crop_and_resize') throw unknown('it crops by an input');
    if (call.text('keep_aspect_ratio_policy', 'stretch') !== 'stretch') throw unknown('it keeps the aspect ratio');
    const position = axes.indexOf(value.axis);
    if (position !== -1 && !keepsAxis(call, value.dims[value.axis] as Size, position, scales, sizes))
      throw mixed('it resizes the batch axis');
  }
  let shape: readonly Size[] = dims;
  const wanted = sizes === undefined ? undefined : contentsOf(sizes, call.symbols);
  for (const [position, axis] of axes.entries()) {
    if (isRows(value) && value.axis === axis) continue;
    const size = wanted?.[position];
    if (size?.dependsOnRows === true) throw mixed('the number of rows is used as a value');
    const isKnown = size !== undefined && call.symbols.isSizeOnly(size);
    shape = withItem(shape, axis, isKnown ? size : call.symbols.size());
  }
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

function resizeInputs(call: OperatorCall): { scales: Value | undefined; sizes: Value | undefined } {
  if (call.node.operator === 'Upsample' || call.opset < 11) return { scales: call.inputs[1], sizes: undefined };
  const given = (value: Value | undefined): Value | undefined => (value?.dims?.[0]?.is(0) === true ? undefined : value);
  return { scales: given(call.inputs[2]), sizes: given(call.inputs[3]) };
}

function keepsAxis(
  call: OperatorCall,
  size: Size,
  position: number,
  scales: Value | undefined,
  sizes: Value | undefined,
): boolean {
  if (sizes !== undefined)
    return mustHaveContents(sizes, call.symbols, 'the new sizes')[position]?.equals(size) === true;
  if (scales !== undefined)
    return constantsOf(scales)?.[position] === 1 || contentsOf(scales, call.symbols)?.[position]?.is(1) === true;
  return call.numbers('scales')?.[position] === 1;
}

/** GridSample, DeformConv: several inputs with rows in front. */
export function leading(channelsOf: 'first' | 'weights', settings: readonly number[]): Transfer {
  return (call) => {
    mustNotCount(call.given);
    const value = call.input(0);
    const batch = value.dims?.[0];
    for (const [index, input] of call.inputs.entries()) {
      if (input === undefined) continue;
      if (settings.includes(index)) {
        if (input.kind !== 'plain') throw unknown('its weights depend on the rows');
        continue;
      }
      mustLeadWithRows(input);
      if (input.kind !== value.kind) throw unknown('only some of its inputs have rows');
      if (isRows(input) && !(input.dims[0] as Size).equals(batch as Size))
        throw unknown('its inputs have different numbers of elements for each row');
    }
    const rank = mustHaveDims(value).length;
    const channels = channelsOf === 'first' ? (value.dims?.[1] as Size) : call.symbols.size();
    const shape = [batch as Size, channels, ...Array.from({ length: rank - 2 }, () => call.symbols.size())];
    return isRows(value) ? rows(shape, 0) : plain(shape);
  };
}

/** AffineGrid: rows of matrices, and the shape of the pictures. */
export const affineGrid: Transfer = (call): OperatorOutput => {
  const theta = call.input(0);
  mustLeadWithRows(theta);
  const sizes = mustHaveContents(call.input(1), call.symbols, 'the size of the grid');
  const [count, , ...space] = sizes;
  if (count === undefined || space.some((size) => size.dependsOnRows))
    throw unknown('the size of the grid is not known');
  const shape = [mustHaveDims(theta)[0] as Size, ...space.map(() => call.symbols.size()), call.symbols.size()];
  if (!isRows(theta)) return plain(shape);
  if (!count.equals(theta.dims[0] as Size)) throw mixed('the size of the grid names a fixed number of rows');
  return rows(shape, 0);
};

/** QLinearAveragePool: quantised, with scales that are the same for all rows. */
export const averagePool: Transfer = (call) => {
  if (call.integer('channels_last', 0) === 1) throw unknown('channels are last');
  return pool(call);
};
