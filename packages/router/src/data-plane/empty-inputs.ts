/**
 * Checks requests in which an input has no elements. For some operators ONNX Runtime crashes its process then. And where an input
 * without rows is concatenated with one that has rows, it counts the columns of the first and never writes them: the answer would
 * leak memory of an earlier request. So of sizes that must be equal, either all are zero or none is.
 */
import { formatShape, quote, type Tensor } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';

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
  for (const { what, sizes } of sizesThatBelongTogether(inputs, view)) {
    const empty = sizes.find(({ size }) => size === 0);
    const other = sizes.find(({ size }) => size !== 0);
    if (empty === undefined || other === undefined) continue;
    return (
      `input ${quote(empty.tensor.name)} for model ${model} has shape ${formatShape(empty.tensor.shape)} beside input ` +
      `${quote(other.tensor.name)} of shape ${formatShape(other.tensor.shape)}, but ${what}; send 0 in both, or in neither`
    );
  }
  return undefined;
}

interface Together {
  /** Why they must be equal. */
  readonly what: string;
  readonly sizes: readonly { readonly tensor: Tensor; readonly size: number }[];
}

function* sizesThatBelongTogether(
  inputs: readonly (Tensor | undefined)[],
  { inputs: specs, isBatched, sharedSizes = [] }: ModelView,
): Generator<Together, void> {
  if (isBatched) {
    // A value that overrides one in the graph has no rows of the batch.
    const batched = inputs.filter((tensor, index) => tensor !== undefined && specs[index]?.hasDefault !== true);
    yield { what: 'both have the rows of the batch', sizes: batched.map((tensor) => sizeAt(tensor as Tensor, 0)) };
  }
  for (const { name, axes } of sharedSizes) {
    const given = axes.filter(({ input }) => inputs[input] !== undefined);
    const sizes = given.map(({ input, axis }) => sizeAt(inputs[input] as Tensor, axis));
    yield { what: `the model gives both the size ${quote(name)}`, sizes };
  }
}

function sizeAt(tensor: Tensor, axis: number): Together['sizes'][number] {
  return { tensor, size: tensor.shape[axis] ?? 1 };
}
