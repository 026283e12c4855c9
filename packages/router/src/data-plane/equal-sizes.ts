/**
 * Sizes of the inputs of a request that belong together: the rows of the batch, and axes that the graph gives one name. Engines do not
 * insist that they are equal, since one may be repeated along the other; where a run fails, unequal ones are the likely reason.
 */
import { InferenceError, quote, type Tensor } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';

interface SizeOfInput {
  readonly tensor: Tensor;
  readonly axis: number;
  readonly size: number;
}

export interface SizesTogether {
  /** Why they belong together. */
  readonly why: string;
  readonly sizes: readonly SizeOfInput[];
}

export function* sizesThatBelongTogether(
  inputs: readonly (Tensor | undefined)[],
  { inputs: specs, isBatched, sharedSizes = [] }: ModelView,
): Generator<SizesTogether, void> {
  if (isBatched) {
    // A value that takes the place of one in the graph has no rows of the batch.
    const batched = inputs.filter((tensor, index) => tensor !== undefined && specs[index]?.hasDefault !== true);
    yield { why: 'both have the rows of the batch', sizes: batched.map((tensor) => sizeAt(tensor as Tensor, 0)) };
  }
  for (const { name, axes } of sharedSizes) {
    const given = axes.filter(({ input }) => inputs[input] !== undefined);
    const sizes = given.map(({ input, axis }) => sizeAt(inputs[input] as Tensor, axis));
    yield { why: `the model gives both the size ${quote(name)}`, sizes };
  }
}

/** The failure of a run as the mistake of its caller, where sizes that belong together are unequal; otherwise as it is. */
export function explainedFailure(
  failure: InferenceError,
  inputs: readonly (Tensor | undefined)[],
  view: ModelView,
): InferenceError {
  if (failure.code !== 'inference-failed') return failure;
  for (const { why, sizes } of sizesThatBelongTogether(inputs, view)) {
    const [first] = sizes;
    const other = sizes.find(({ size }) => size !== first?.size);
    if (first === undefined || other === undefined) continue;
    const message =
      `axis ${other.axis} of input ${quote(other.tensor.name)} for model ${quote(view.name)} is ${other.size}, but axis ${first.axis} of ` +
      `${quote(first.tensor.name)} is ${first.size}, and ${why}; send equal sizes (${failure.message})`;
    return new InferenceError('invalid-request', message, { cause: failure });
  }
  return failure;
}

function sizeAt(tensor: Tensor, axis: number): SizeOfInput {
  return { tensor, axis, size: tensor.shape[axis] ?? 1 };
}
