/**
 * Checks requests in which an input has no elements. For some operators ONNX Runtime crashes its process then. And where an input
 * without rows is concatenated with one that has rows, it counts the columns of the first and never writes them: the answer would
 * leak memory of an earlier request. So of sizes that must be equal, either all are zero or none is.
 */
import { formatShape, quote, type Tensor } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';
import { sizesThatBelongTogether } from './equal-sizes.ts';

/** What is wrong; undefined: nothing. */
export function emptyInputProblem(inputs: readonly (Tensor | undefined)[], view: ModelView): string | undefined {
  const model = quote(view.name);
  for (const tensor of inputs) {
    if (tensor === undefined || tensor.data.length > 0) continue;
    if (view.emptyHazard !== undefined && tensor.shape[0] === 0) {
      return (
        `input ${quote(tensor.name)} for model ${model} has no rows (shape ${formatShape(tensor.shape)}), and the operator ` +
        `${view.emptyHazard} of its graph cannot run without rows; send at least one row`
      );
    }
  }
  for (const { why, sizes } of sizesThatBelongTogether(inputs, view)) {
    const empty = sizes.find(({ size }) => size === 0);
    const other = sizes.find(({ size }) => size !== 0);
    if (empty === undefined || other === undefined) continue;
    return (
      `input ${quote(empty.tensor.name)} for model ${model} has shape ${formatShape(empty.tensor.shape)} beside input ` +
      `${quote(other.tensor.name)} of shape ${formatShape(other.tensor.shape)}, but ${why}; send 0 in both, or in neither`
    );
  }
  return undefined;
}
