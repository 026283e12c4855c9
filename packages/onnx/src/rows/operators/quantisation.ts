/** Numbers to few bits and back. */
import { axisFrom, isRows } from '../axes.ts';
import { broadcast, mustNotCount } from '../broadcast.ts';
import { OperatorCall, type Transfer } from '../call.ts';
import { mixed, mustHaveDims, plain, unknown, type Value } from '../value.ts';
import { concat as concatTensors } from './movement.ts';

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
export const quantisedBinary: Transfer = (call) => {
  for (const [index, setting] of call.inputs.entries()) {
    if (index === 0 || index === 3 || setting === undefined) continue;
    if (setting.kind !== 'plain' || !isSingle(setting)) throw unknown('a scale is not a single number');
  }
  return broadcast([call.input(0), call.input(3)], call.symbols);
};

function mustBeScales(values: readonly (Value | undefined)[]): void {
  for (const setting of values) {
    if (setting !== undefined && (setting.kind !== 'plain' || !isSingle(setting)))
      throw unknown('a scale is not a single number');
  }
}

/** Condition, X, its scale and zero point, Y, its scale and zero point, then the result's. */
export const quantisedWhere: Transfer = (call) => {
  mustBeScales([2, 3, 5, 6, 7, 8].map((index) => call.inputs[index]));
  return broadcast([call.input(0), call.input(1), call.input(4)], call.symbols);
};

/** The result's scale and zero point, then each tensor with its own. */
export const quantisedConcat: Transfer = (call) => {
  const tensors: Value[] = [];
  mustBeScales(call.inputs.slice(0, 2));
  for (let index = 2; index < call.inputs.length; index += 3) {
    tensors.push(call.input(index));
    mustBeScales(call.inputs.slice(index + 1, index + 3));
  }
  const axis = call.integer('axis', 0);
  const attributes = new Map([['axis', { kind: 'integer', value: axis } as const]]);
  return concatTensors(new OperatorCall(call.node, attributes, call.opset, tensors, call.symbols, call.runSubgraph));
};

/** Over the axis alone or over all from it on, as the operator set named in an attribute has it. */
export const quantisedSoftmax: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount(call.given);
  mustBeScales(call.inputs.slice(1));
  const dims = mustHaveDims(value);
  if (!isRows(value)) return plain(dims);
  const axis = axisFrom(call.integer('axis', -1), dims.length);
  const isFlattening = call.integer('opset', 13) < 13;
  if (isFlattening ? value.axis >= axis : value.axis === axis) throw mixed('it normalises over the batch axis');
  return value;
};
