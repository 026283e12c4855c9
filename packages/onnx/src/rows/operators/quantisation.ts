/** Numbers to few bits and back. */
import { axisFrom, isRows } from '../axes.ts';
import { broadcast, mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import { mixed, mustHaveDims, plain, unknown, type Value } from '../value.ts';

function isSingle({ dims }: Value): boolean {
  return dims?.every((size) => size.is(1)) === true;
}

/** QuantizeLinear and DequantizeLinear: scale and zero point for all, or one for each element of an axis. */
export const linear: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount(call.given);
  const settings = call.inputs.slice(1).filter((setting) => setting !== undefined);
  if (settings.some(({ kind }) => kind !== 'plain')) throw mixed('the scale depends on the rows');
  const dims = mustHaveDims(value);
  if (!isRows(value)) return plain(dims);
  for (const setting of settings) {
    if (isSingle(setting) && mustHaveDims(setting).length < 2) continue;
    if (mustHaveDims(setting).length !== 1 || call.integer('block_size', 0) !== 0)
      throw unknown('it is quantised in blocks');
    if (axisFrom(call.integer('axis', 1), dims.length) === value.axis)
      throw mixed('each row has a scale by its position');
  }
  return value;
};

export const dynamic: Transfer = (call) => {
  const value = call.input(0);
  if (isRows(value)) throw mixed('its scale is computed from all rows together');
  mustNotCount([value]);
  return [plain(value.dims), plain([]), plain([])];
};

/** Quantised operators on elements of two tensors: A, its scale and zero point, B, its scale and zero point, then the result's. */
export const binary: Transfer = (call) => {
  for (const [index, setting] of call.inputs.entries()) {
    if (index === 0 || index === 3 || setting === undefined) continue;
    if (setting.kind !== 'plain' || !isSingle(setting)) throw unknown('a scale is not a single number');
  }
  return broadcast([call.input(0), call.input(3)], call.symbols);
};
