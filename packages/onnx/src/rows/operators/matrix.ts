/** Products of matrices. */
import { isRows } from '../axes.ts';
import { broadcast, mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import type { Size } from '../size.ts';
import {
  mixed,
  mustHaveDims,
  type OperatorOutput,
  type PlainValue,
  plain,
  type RowsValue,
  rows,
  unknown,
  type Value,
} from '../value.ts';

const contracted = 'it sums over the batch axis';
const outer = 'every row meets every other in the product';

/** Two of the inputs are multiplied; the others are settings, of which `singles` must have one element. */
export function product(leftInput: number, rightInput: number, singles: readonly number[] = []): Transfer {
  return (call) => {
    for (const [index, value] of call.inputs.entries()) {
      if (index === leftInput || index === rightInput || value === undefined) continue;
      if (value.kind !== 'plain') throw unknown('an input that sets how it works depends on the rows');
      // A scale or zero point for each row of the left matrix would be one for each row of the batch.
      if (singles.includes(index) && !isSingle(value)) throw unknown('a setting has several elements');
    }
    return multiply(call.input(leftInput), call.input(rightInput), call);
  };
}

function isSingle({ dims }: Value): boolean {
  return dims?.every((size) => size.is(1)) === true;
}

/** As numpy's matmul: the last two axes are matrices, those before them are aligned. */
function multiply(left: Value, right: Value, call: OperatorCall): OperatorOutput {
  mustNotCount([left, right]);
  const [leftDims, rightDims] = [mustHaveDims(left), mustHaveDims(right)];
  if (leftDims.length === 0 || rightDims.length === 0) throw unknown('a factor has no axes');
  const [leftRank, rightRank] = [leftDims.length, rightDims.length];
  if (isRows(left) && left.axis === leftRank - 1) throw mixed(contracted);
  if (isRows(right) && right.axis === Math.max(0, rightRank - 2)) throw mixed(contracted);
  const isLeftRowAxis = isRows(left) && leftRank > 1 && left.axis === leftRank - 2;
  const isRightColumnAxis = isRows(right) && rightRank > 1 && right.axis === rightRank - 1;
  if (isRows(left) && isRows(right) && (isLeftRowAxis || isRightColumnAxis)) throw mixed(outer);
  const batch = broadcast([prefix(left, isLeftRowAxis), prefix(right, isRightColumnAxis)], call.symbols);
  const batchDims = mustHaveDims(batch);
  const last = [
    ...(leftRank > 1 ? [leftDims[leftRank - 2] as Size] : []),
    ...(rightRank > 1 ? [rightDims[rightRank - 1] as Size] : []),
  ];
  const shape = [...batchDims, ...last];
  if (isRows(batch)) return rows(shape, batch.axis);
  if (isLeftRowAxis) return rows(shape, batchDims.length);
  if (isRightColumnAxis) return rows(shape, shape.length - 1);
  return plain(shape);
}

/** The axes before the matrix. */
function prefix(value: Value, isInMatrix: boolean): Value {
  const dims = mustHaveDims(value);
  const before = dims.slice(0, Math.max(0, dims.length - 2));
  return isRows(value) && !isInMatrix ? rows(before, value.axis) : plain(before);
}

/** Gemm and its quantised relatives; `inputs` are the positions of the two factors and of what is added. */
export function gemm(leftInput: number, rightInput: number, addedInput: number): Transfer {
  return (call) => {
    const [left, right] = [call.input(leftInput), call.input(rightInput)];
    mustNotCount(call.given);
    for (const [index, value] of call.inputs.entries()) {
      if ([leftInput, rightInput, addedInput].includes(index) || value === undefined) continue;
      if (value.kind !== 'plain') throw unknown('an input that sets how it works depends on the rows');
    }
    const [leftDims, rightDims] = [mustHaveDims(left), mustHaveDims(right)];
    if (leftDims.length !== 2 || rightDims.length !== 2) throw unknown('a factor is not a matrix');
    const rowAxis = call.integer('transA', 0) === 0 ? 0 : 1;
    const columnAxis = call.integer('transB', 0) === 0 ? 1 : 0;
    const shape = [leftDims[rowAxis] as Size, rightDims[columnAxis] as Size];
    if (isRows(left) && isRows(right))
      throw left.axis === rowAxis && right.axis === columnAxis ? mixed(outer) : mixed(contracted);
    if (isRows(left) && left.axis !== rowAxis) throw mixed(contracted);
    if (isRows(right) && right.axis !== columnAxis) throw mixed(contracted);
    const result = isRows(left) ? rows(shape, 0) : isRows(right) ? rows(shape, 1) : plain(shape);
    const added = call.inputs[addedInput];
    return added === undefined ? result : mustKeepRank(broadcast([result, added], call.symbols), shape.length);
  };
}

/** What is added is repeated to the size of the product, never the other way round. */
function mustKeepRank(value: PlainValue | RowsValue, rank: number): OperatorOutput {
  if (value.dims?.length !== rank) throw unknown('what is added is larger than the product');
  return value;
}

/** The last two axes are square matrices, each treated alone. */
export function ofMatrices(isReducing: boolean): Transfer {
  return (call) => {
    const value = call.input(0);
    mustNotCount([value]);
    const dims = mustHaveDims(value);
    if (dims.length < 2) throw unknown('there is no matrix');
    if (isRows(value) && value.axis >= dims.length - 2) throw mixed('the batch axis is taken for an axis of a matrix');
    const shape = isReducing ? dims.slice(0, -2) : dims;
    return isRows(value) ? rows(shape, value.axis) : plain(shape);
  };
}

/** FusedMatMul: axes are exchanged before the product. */
export const fusedProduct: Transfer = (call) => {
  if (call.integer('transBatchA', 0) !== 0 || call.integer('transBatchB', 0) !== 0)
    throw unknown('it moves the first axis');
  const left = call.integer('transA', 0) === 0 ? call.input(0) : exchanged(call.input(0));
  const right = call.integer('transB', 0) === 0 ? call.input(1) : exchanged(call.input(1));
  return multiply(left, right, call);
};

function exchanged(value: Value): Value {
  const dims = mustHaveDims(value);
  const rank = dims.length;
  if (rank < 2) return value;
  const shape = [...dims.slice(0, -2), dims[rank - 1] as Size, dims[rank - 2] as Size];
  if (!isRows(value)) return plain(shape);
  const moved = value.axis === rank - 1 ? rank - 2 : value.axis === rank - 2 ? rank - 1 : value.axis;
  return rows(shape, moved);
}

/** MatMulNBits: weights are packed, so that only their number of columns is known, from an attribute. */
export const packedProduct: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  for (const setting of call.inputs.slice(1))
    if (setting !== undefined && setting.kind !== 'plain') throw unknown('its weights depend on the rows');
  const dims = mustHaveDims(value);
  if (isRows(value) && value.axis === dims.length - 1) throw mixed(contracted);
  const shape = [...dims.slice(0, -1), call.symbols.size()];
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

/** CDist: the distance of each on the left from each on the right. */
export const distances: Transfer = (call) => {
  const [left, right] = [call.input(0), call.input(1)];
  mustNotCount([left, right]);
  const [leftDims, rightDims] = [mustHaveDims(left), mustHaveDims(right)];
  const shape = [leftDims[0] as Size, rightDims[0] as Size];
  if (isRows(left) && isRows(right)) throw mixed(outer);
  if ((isRows(left) && left.axis !== 0) || (isRows(right) && right.axis !== 0)) throw mixed(contracted);
  if (isRows(left)) return rows(shape, 0);
  return isRows(right) ? rows(shape, 1) : plain(shape);
};
