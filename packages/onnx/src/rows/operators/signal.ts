/** Transforms of signals. */
import { axisFrom, isRows, withItem } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import { constantsOf } from '../contents.ts';
import { Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, unknown } from '../value.ts';
import { mustBeSettings } from './elementwise.ts';

/** DFT: along one axis; the last one holds real and imaginary parts. The axis is an input since opset 20. */
export const fourier: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  const dims = mustHaveDims(value);
  const input = call.inputs[2];
  const written = call.opset < 20 ? call.integer('axis', 1) : input === undefined ? -2 : constantsOf(input)?.[0];
  if (written === undefined) throw unknown('the axis is not known');
  const axis = axisFrom(written, dims.length);
  if (isRows(value) && (value.axis === axis || value.axis === dims.length - 1))
    throw mixed('it transforms along the batch axis');
  const parts = call.integer('inverse', 0) === 1 && call.integer('onesided', 0) === 1 ? 1 : 2;
  const isWhole = call.inputs[1] === undefined && call.integer('onesided', 0) === 0;
  const length = isWhole ? (dims[axis] as Size) : call.symbols.size();
  const shape = withItem(withItem(dims, axis, length), dims.length - 1, Size.constant(parts));
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

/** STFT: rows of signals in front. */
export const shortFourier: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  const dims = mustHaveDims(value);
  if (isRows(value) && value.axis !== 0) throw mixed('it transforms along the batch axis');
  const shape = [dims[0] as Size, call.symbols.size(), call.symbols.size(), Size.constant(2)];
  return isRows(value) ? rows(shape, 0) : plain(shape);
};

/** Col2Im: columns put together to pictures, rows in front. */
export const picturesFromColumns: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  const dims = mustHaveDims(value);
  if (isRows(value) && value.axis !== 0) throw mixed('the batch axis is taken for channels or space');
  const space = call.input(1).dims?.[0]?.constantValue;
  if (space === undefined) throw unknown('the number of axes of the picture is not known');
  const shape = [dims[0] as Size, call.symbols.size(), ...Array.from({ length: space }, () => call.symbols.size())];
  return isRows(value) ? rows(shape, 0) : plain(shape);
};
