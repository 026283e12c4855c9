/** RNN, LSTM and GRU, whose sequences run along one axis and whose rows along another. */
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import { Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, unknown, type Value } from '../value.ts';

const lengthsInput = 4;
/** Initial states: hidden, and the cell's for LSTM. */
const stateInputs: readonly number[] = [5, 6];

export const recurrent: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount(call.given);
  const dims = mustHaveDims(value);
  if (dims.length !== 3) throw unknown('the input does not have three axes');
  const isRowsFirst = call.integer('layout', 0) === 1;
  const batchAxis = isRowsFirst ? 0 : 1;
  const [batch, steps] = [dims[batchAxis] as Size, dims[1 - batchAxis] as Size];
  for (const index of [1, 2, 3, 7]) {
    const weights = call.inputs[index];
    if (weights !== undefined && weights.kind !== 'plain') throw unknown('its weights depend on the rows');
  }
  if (isRows(value) && value.axis !== batchAxis)
    throw mixed('the batch axis is taken for the sequence or its features');
  mustMatch(call.inputs[lengthsInput], value, batch, 0);
  for (const index of stateInputs) mustMatch(call.inputs[index], value, batch, batchAxis);
  const directions = Size.constant(call.text('direction', 'forward') === 'bidirectional' ? 2 : 1);
  const width = call.has('hidden_size') ? Size.constant(call.integer('hidden_size', 0)) : call.symbols.size();
  const all = isRowsFirst ? [batch, steps, directions, width] : [steps, directions, batch, width];
  const last = isRowsFirst ? [batch, directions, width] : [directions, batch, width];
  if (!isRows(value)) return [plain(all), plain(last), plain(last)];
  return [rows(all, isRowsFirst ? 0 : 2), rows(last, batchAxis), rows(last, batchAxis)];
};

/** A further input must have its rows on `axis`, as many as the sequence; or both have none. */
function mustMatch(input: Value | undefined, sequence: Value, batch: Size, axis: number): void {
  if (input === undefined) return;
  if (!isRows(sequence)) {
    if (isRows(input)) throw unknown('only some of its inputs have rows');
    return;
  }
  if (!isRows(input)) throw mixed('a state or length for a fixed number of rows');
  if (input.axis !== axis) throw mixed('the batch axes of its inputs do not line up');
  if (!(input.dims[axis] as Size).equals(batch))
    throw unknown('its inputs have different numbers of elements for each row');
}
