/** Normalisations with weights, whose statistics are of one row or were computed beforehand. */
import { axisFrom, isRows } from '../axes.ts';
import { broadcast, mustBeOne, mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { one, type Size } from '../size.ts';
import { mixed, mustHaveDims, type OperatorOutput, plain, rows, unknown, type Value } from '../value.ts';
import { mustBeSettings } from './elementwise.ts';

/** LayerNormalization and its relatives: over `axis` and all behind it. The last outputs are the statistics. */
export const layerNormalisation: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  return normalisedFrom(value, call);
};

function normalisedFrom(value: Value, call: OperatorCall): readonly OperatorOutput[] {
  const dims = mustHaveDims(value);
  const axis = axisFrom(call.integer('axis', -1), dims.length);
  for (const setting of call.inputs.slice(1)) mustFitBehind(setting, dims, axis);
  const statistics = dims.map((size, index) => (index >= axis ? one : size));
  if (!isRows(value)) return [plain(dims), plain(statistics), plain(statistics)];
  if (value.axis >= axis) throw mixed('it normalises over the batch axis');
  return [value, rows(statistics, value.axis), rows(statistics, value.axis)];
}

/** Scale and bias are aligned at the last axes, and must not reach the batch axis. */
function mustFitBehind(setting: Value | undefined, dims: readonly Size[], axis: number): void {
  if (setting === undefined) return;
  const own = mustHaveDims(setting);
  for (let index = 0; index < own.length; index++) {
    if (index - own.length + dims.length < axis) mustBeOne(own[index] as Size);
  }
}

/** SkipLayerNormalization: the inputs are added first. Outputs: normalised, mean, deviation, sum. */
export function skipLayerNormalisation(biasInput: number): Transfer {
  return (call) => {
    const [value, skip] = [call.input(0), call.input(1)];
    mustNotCount([value, skip]);
    for (const setting of call.inputs.slice(2))
      if (setting !== undefined && setting.kind !== 'plain') throw unknown('its weights depend on the rows');
    const sum = broadcast([value, skip], call.symbols);
    const dims = mustHaveDims(sum);
    if (!mustHaveDims(value).every((size, index) => dims[index]?.equals(size)))
      throw unknown('the skipped input is larger than the input');
    const bias = call.inputs[biasInput];
    if (bias !== undefined && mustHaveDims(bias).length !== 1) throw unknown('the bias is not a list');
    if (isRows(sum) && sum.axis === dims.length - 1) throw mixed('it normalises over the batch axis');
    const statistics = dims.map((size, index) => (index === dims.length - 1 ? one : size));
    const statistic = isRows(sum) ? rows(statistics, sum.axis) : plain(statistics);
    return [sum, statistic, statistic, sum];
  };
}

/** Statistics of each row and channel, or group of channels. */
export const instanceNormalisation: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  if (isRows(value) && value.axis !== 0) throw mixed('the batch axis is taken for channels or space');
  return isRows(value) ? value : plain(mustHaveDims(value));
};

/** With statistics computed beforehand, one for each channel. */
export const batchNormalisation: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  mustBeSettings(call, 1);
  const isTraining =
    call.integer('training_mode', 0) !== 0 ||
    (call.opset < 14 && call.node.outputs.filter((name) => name !== '').length > 1);
  if (isRows(value)) {
    if (isTraining) throw mixed('in training mode it computes statistics over the rows');
    if (value.axis === 1) throw mixed('the batch axis is taken for channels');
    return value;
  }
  if (isTraining) throw unknown('it is in training mode');
  return plain(mustHaveDims(value));
};

/** LRN: over neighbouring channels. */
export const localResponse: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  if (isRows(value) && value.axis !== 0) throw mixed('the batch axis is taken for channels or space');
  return isRows(value) ? value : plain(mustHaveDims(value));
};
